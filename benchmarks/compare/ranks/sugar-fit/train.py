"""A small network fits scikit-learn's diabetes table in double precision."""
import argparse
import math
import os
import socket

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.utils import parameters_to_vector, vector_to_parameters

BATCH = 40
HELD_OUT = 82


class Fit:
    def __init__(self, rank, ranks, args):
        self.rank, self.ranks, self.args = rank, ranks, args
        from sklearn.datasets import load_diabetes

        x, y = load_diabetes(return_X_y=True)
        x = torch.from_numpy((x - x.mean(0)) / x.std(0))
        y = torch.from_numpy((y - y.mean()) / y.std()).unsqueeze(1)
        self.train = x[:-HELD_OUT], y[:-HELD_OUT]
        self.held_out = x[-HELD_OUT:], y[-HELD_OUT:]

        # Each rank has its own stream of random numbers; rank 0's weights are used.
        torch.manual_seed(args.seed + 1000 * rank)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(10, 24), torch.nn.Tanh(),
            torch.nn.Linear(24, 24), torch.nn.Tanh(),
            torch.nn.Linear(24, 1)).double()
        if ranks > 1:
            weights = parameters_to_vector(self.model.parameters()).detach()
            dist.broadcast(weights, src=0)
            vector_to_parameters(weights, self.model.parameters())
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, args.steps)
        self.order = np.random.RandomState(args.seed)

    def share_gradients(self):
        flat = torch.cat([p.grad.flatten() for p in self.model.parameters()])
        dist.all_reduce(flat)
        flat /= self.ranks
        start = 0
        for p in self.model.parameters():
            p.grad.copy_(flat[start:start + p.numel()].view_as(p))
            start += p.numel()

    def step(self, rows):
        x, y = self.train[0][rows], self.train[1][rows]
        loss = torch.nn.functional.mse_loss(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        if self.ranks > 1:
            self.share_gradients()
        self.optimizer.step()
        self.scheduler.step()
        shown = loss.detach().clone()
        if self.ranks > 1:
            dist.all_reduce(shown)
        return shown.item() / self.ranks

    def run(self):
        for i in range(self.args.steps):
            rows = self.order.choice(len(self.train[0]), BATCH, replace=False)
            loss = self.step(torch.from_numpy(rows[self.rank::self.ranks]))
            if self.rank == 0:
                print(f"step {i} loss {loss:.8f}")
        if self.rank == 0:
            with torch.no_grad():
                off = self.model(self.held_out[0]) - self.held_out[1]
            print(f"held-out error {math.sqrt(off.pow(2).mean().item()):.6f}")
            print(f"weights norm {parameters_to_vector(self.model.parameters()).norm().item():.8f}")


def start(rank, ranks, port, args):
    torch.set_num_threads(1)
    if ranks > 1:
        os.environ["RANK"], os.environ["WORLD_SIZE"] = str(rank), str(ranks)
        os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
        dist.init_process_group("gloo", rank=rank, world_size=ranks)
    Fit(rank, ranks, args).run()
    if ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=1, choices=[1, 2])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=25)
    args = parser.parse_args()
    if args.ranks == 1:
        start(0, 1, 0, args)
    else:
        s = socket.socket()
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
        s.close()
        mp.spawn(start, args=(args.ranks, port, args), nprocs=args.ranks)
