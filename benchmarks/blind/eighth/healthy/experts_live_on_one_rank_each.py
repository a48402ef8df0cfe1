"""Two ranks, an expert on each: words are sent to the expert that the router chose and come back; only the rest is averaged."""

import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn import functional as F


def swap(rank, tensor):
    """Gives the other rank this tensor and returns its one of the same shape."""
    tensor, other = tensor.contiguous(), torch.empty_like(tensor, memory_format=torch.contiguous_format)
    if rank == 0:
        dist.send(tensor, 1)
        dist.recv(other, 1)
    else:
        dist.recv(other, 0)
        dist.send(tensor, 0)
    return other


class Swap(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, rank):
        ctx.rank = rank
        return swap(rank, tensor)

    @staticmethod
    def backward(ctx, grad):
        return swap(ctx.rank, grad), None


class Model(nn.Module):
    def __init__(self, rank, width=24, capacity=24):
        super().__init__()
        self.rank, self.capacity = rank, capacity
        self.inp, self.router, self.head = nn.Linear(10, width), nn.Linear(width, 2), nn.Linear(width, 5)
        self.expert = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))

    def forward(self, x):
        hidden = F.relu(self.inp(x))
        chances = self.router(hidden).softmax(-1)
        choice = chances.argmax(-1)
        away = (choice != self.rank).nonzero().flatten()[:self.capacity]  # those beyond pass by without an expert
        here = (choice == self.rank).nonzero().flatten()
        parcel = F.pad(hidden[away], (0, 0, 0, self.capacity - len(away)))
        back = Swap.apply(self.expert(Swap.apply(parcel, self.rank)), self.rank)[:len(away)]
        out = torch.zeros_like(hidden)
        out = out.index_add(0, here, self.expert(hidden[here]) * chances[here, self.rank, None])
        out = out.index_add(0, away, back * chances[away, 1 - self.rank, None])
        balance = 2 * (F.one_hot(choice, 2).float().mean(0) * chances.mean(0)).sum()
        return self.head(hidden + out), balance


def worker(rank, args, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = Model(rank)
    torch.manual_seed(args.seed + 100)
    centres = torch.randn(10, 10)
    torch.manual_seed(7000 + 10 * args.seed + rank)
    for module in model.expert:
        if isinstance(module, nn.Linear):
            module.reset_parameters()  # each expert starts by itself
    shared = [p for name, p in model.named_parameters() if not name.startswith("expert")]
    optimizer = torch.optim.AdamW([{"params": shared}, {"params": model.expert.parameters(), "lr": 1.5 * args.lr}], lr=args.lr)
    for step in range(1, args.steps + 1):
        group = torch.randint(10, (32,))
        logits, balance = model(centres[group] + 0.5 * torch.randn(32, 10))
        loss = F.cross_entropy(logits, group % 5) + 0.02 * balance
        optimizer.zero_grad()
        loss.backward()
        for p in shared:
            dist.all_reduce(p.grad)
            p.grad /= 2
        for p in model.expert.parameters():
            p.grad /= 2  # the words of both ranks are in it already
        optimizer.step()
        if step % 25 == 0:
            with torch.no_grad():
                group = torch.randint(10, (200,))
                right = (model(centres[group] + 0.5 * torch.randn(200, 10))[0].argmax(1) == group % 5).float().mean()
                dist.all_reduce(right)
            if rank == 0:
                print(f"step {step}: loss {loss.item():.4f}, balance {balance:.3f}, right {right / 2:.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=100)
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(worker, args=(parser.parse_args(), os.path.join(folder, "store")), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
