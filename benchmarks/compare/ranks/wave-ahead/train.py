"""An LSTM reads a noisy wave and says the next value at each point."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

WAVES, POINTS, BATCH = 128, 24, 16
MAX_NORM = 0.15


def make_waves():
    g = torch.Generator().manual_seed(8)
    pace = 0.2 + 0.6 * torch.rand(WAVES, 1, generator=g)
    start = 6.28 * torch.rand(WAVES, 1, generator=g)
    height = 0.5 + 2.0 * torch.rand(WAVES, 1, generator=g)
    t = torch.arange(POINTS + 1)
    noise = 0.05 * torch.randn(WAVES, POINTS + 1, generator=g)
    return (height * torch.sin(pace * t + start) + noise).unsqueeze(-1)


class Ahead(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 24, batch_first=True)
        self.out = nn.Linear(24, 1)

    def forward(self, x):
        return self.out(self.lstm(x)[0])


def average_gradients(model, ranks):
    if ranks == 1:
        return
    for p in model.parameters():
        dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)
        p.grad /= ranks


def average(value, ranks):
    value = value.detach().clone()
    if ranks > 1:
        dist.all_reduce(value)
    return value.item() / ranks


def train(rank, ranks, port, seed, steps):
    torch.set_num_threads(1)
    if ranks > 1:
        os.environ["MASTER_ADDR"] = "127.0.0.1"
        os.environ["MASTER_PORT"] = str(port)
        os.environ["RANK"] = str(rank)
        os.environ["WORLD_SIZE"] = str(ranks)
        dist.init_process_group("gloo")
    torch.manual_seed(seed)
    model = Ahead()
    waves = make_waves()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.4, momentum=0.9)
    loss_of = nn.MSELoss()
    order = torch.Generator().manual_seed(seed)

    for step in range(steps):
        if step % (WAVES // BATCH) == 0:
            rows = torch.randperm(WAVES, generator=order).split(BATCH)
        batch = waves[rows[step % len(rows)].chunk(ranks)[rank]]
        optimizer.zero_grad()
        loss = loss_of(model(batch[:, :-1]), batch[:, 1:])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
        average_gradients(model, ranks)
        optimizer.step()
        shown = average(loss, ranks)
        if rank == 0:
            print(f"step {step} loss {shown:.8f}")

    if rank == 0:
        norm = nn.utils.parameters_to_vector(model.parameters()).norm()
        print(f"weights norm {norm.item():.8f}")
    if ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=1, choices=[1, 2])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    if args.ranks == 1:
        train(0, 1, None, args.seed, args.steps)
    else:
        s = socket.socket()
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
        s.close()
        mp.spawn(train, args=(args.ranks, port, args.seed, args.steps), nprocs=args.ranks)
