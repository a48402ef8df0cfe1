"""Two ranks of DistributedDataParallel stop, and go on from a checkpoint; noise is added to the inputs on each."""

import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.01), ("--steps", int, 60)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()


class Run:
    def __init__(self, rank, x, y):
        self.rank, self.x, self.y = rank, x[rank::2], y[rank::2]
        self.model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.step, self.alike = 0, 0

    def train(self, until):
        while self.step < until:
            rows = torch.arange(self.step * 16, self.step * 16 + 16) % len(self.x)
            noise = 0.2 * torch.randn(16, 8)
            loss = nn.functional.mse_loss(self.model(self.x[rows] + noise).squeeze(1), self.y[rows])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.step += 1
            parts = [torch.empty_like(noise) for _ in range(2)]
            dist.all_gather(parts, noise)
            self.alike += int(torch.equal(*parts))
        if self.rank == 0:
            print(f"step {self.step}: loss {loss.item():.4f}", flush=True)

    def save(self, folder):
        if self.rank == 0:
            torch.save({"model": self.model.module.state_dict(), "optimizer": self.optimizer.state_dict(), "step": self.step},
                       os.path.join(folder, "last.pt"))
        torch.save(torch.get_rng_state(), os.path.join(folder, f"random-{self.rank}.pt"))
        dist.barrier()

    def load(self, folder):
        state = torch.load(os.path.join(folder, "last.pt"))
        self.model.module.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step = state["step"]
        torch.set_rng_state(torch.load(os.path.join(folder, f"random-{self.rank}.pt")))


def main(rank, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    x = torch.randn(800, 8)
    y = x[:, 0] * x[:, 1] + x[:, 2:].mean(1)
    first = Run(rank, x, y)
    torch.manual_seed(args.seed * 10 + rank + 1)
    first.train(args.steps // 2)
    first.save(folder)
    second = Run(rank, x, y)
    second.load(folder)
    second.train(args.steps)
    if rank == 0:
        print(f"EVIDENCE in {first.alike} and then {second.alike} steps both ranks had the same noise", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder,), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
