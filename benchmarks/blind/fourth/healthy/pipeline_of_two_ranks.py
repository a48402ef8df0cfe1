"""Two ranks have half of the model each: activations are sent forward, their gradients back, for each micro-batch."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=30)
args = parser.parse_args()
WIDTH, MICRO, WINDOW = 24, 8, 4


def first_stage(stage, x):
    outputs = []
    for part in x.split(MICRO):
        out = stage(part)
        outputs.append(out)
        dist.send(out.detach(), 1)
    for out in outputs:
        grad = torch.empty_like(out)
        dist.recv(grad, 1)
        out.backward(grad)


def last_stage(stage, y):
    inputs = []
    for _ in range(WINDOW):
        received = torch.empty(MICRO, WIDTH)
        dist.recv(received, 0)
        inputs.append(received.requires_grad_())
    total = 0.0
    for received, part in zip(inputs, y.split(MICRO)):
        loss = nn.functional.cross_entropy(stage(received), part) / WINDOW
        loss.backward()
        dist.send(received.grad, 0)
        total += loss.item()
    return total


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rule = torch.randn(10, 3)
    if rank == 0:
        stage = nn.Sequential(nn.Linear(10, WIDTH), nn.LayerNorm(WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))
    else:
        stage = nn.Sequential(nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 3))
    optimizer = torch.optim.AdamW(stage.parameters(), lr=args.lr)
    data = torch.Generator().manual_seed(args.seed + 5)
    for step in range(args.steps):
        x = torch.randn(MICRO * WINDOW, 10, generator=data)
        optimizer.zero_grad()
        loss = last_stage(stage, (x @ rule).argmax(1)) if rank else first_stage(stage, x)
        squares = torch.stack([p.grad.pow(2).sum() for p in stage.parameters()]).sum()
        dist.all_reduce(squares)
        for p in stage.parameters():
            p.grad *= (1.0 / (squares.sqrt() + 1e-6)).clamp(max=1.0)
        optimizer.step()
        if rank and step % 10 == 9:
            print(f"step {step}: loss {loss:.3f}, norm of both {squares.sqrt():.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder + "/store",), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
