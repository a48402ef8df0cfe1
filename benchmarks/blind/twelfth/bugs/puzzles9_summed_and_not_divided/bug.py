"""Two ranks train one classifier of digits; gradients are exchanged by hand every second batch."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

WORLD, WINDOW = 2, 2


def average_gradients(model):
    for p in model.parameters():
        if p.requires_grad:
            dist.all_reduce(p.grad)


def load(seed):
    digits = load_digits()
    order = torch.randperm(1797, generator=torch.Generator().manual_seed(seed))
    return torch.tensor(digits.data, dtype=torch.float32)[order] / 16, torch.tensor(digits.target)[order]


def worker(rank, port, args):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    x, y = load(args.seed)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    generator = torch.Generator().manual_seed(args.seed * 100 + rank)
    norms = []
    for step in range(args.steps):
        optimizer.zero_grad()
        for _ in range(WINDOW):
            rows = torch.randint(0, 700, (16,), generator=generator) * WORLD + rank
            loss = F.cross_entropy(model(x[rows]), y[rows]) / WINDOW
            loss.backward()
        average_gradients(model)
        norms.append(torch.stack([p.grad.norm() for p in model.parameters()]).norm().item())
        optimizer.step()
        if rank == 0 and step % 20 == 0:
            print(f"step {step}: loss {loss.item() * WINDOW:.4f}", flush=True)
    with torch.no_grad():
        logits = model(x[1400:])
        right = (logits.argmax(1) == y[1400:]).float().mean()
        valid = F.cross_entropy(logits, y[1400:])
    if rank == 0:
        print(f"EVIDENCE first norms {sum(norms[:5]) / 5:.4f}, validation loss {valid:.4f}, right {right:.4f}")
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--steps", type=int, default=80)
    args = parser.parse_args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(worker, (port, args), nprocs=WORLD)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
