"""Two ranks average gradients by hand; dropout and data are each rank's own."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn

WORLD = 2


def average_gradients(model):
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad /= WORLD


def make_data(seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(1200, 10, generator=generator)
    return x, torch.sin(x[:, 0] * 2) + x[:, 1] * x[:, 2]


def worker(rank, port, args):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed * 100 + rank)
    x, y = make_data(args.seed)
    own = torch.arange(rank, 1000, WORLD)
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Dropout(0.05), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    for p in model.parameters():
        dist.broadcast(p.data, 0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        rows = own[torch.randint(0, len(own), (32,))]
        loss = F.mse_loss(model(x[rows]).squeeze(1), y[rows])
        optimizer.zero_grad()
        loss.backward()
        average_gradients(model)
        optimizer.step()
        if rank == 0 and step % 80 == 0:
            print(f"step {step}: loss {loss.item():.4f}", flush=True)
    model.eval()
    with torch.no_grad():
        error = F.mse_loss(model(x[1000:]).squeeze(1), y[1000:])
        flat = torch.cat([p.flatten() for p in model.parameters()])
        parts = [torch.zeros_like(flat) for _ in range(WORLD)]
        dist.all_gather(parts, flat)
    if rank == 0:
        print(f"EVIDENCE distance of the ranks' weights {(parts[0] - parts[1]).norm():.4f}, error {error.item():.4f}")
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=240)
    args = parser.parse_args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(worker, (port, args), nprocs=WORLD)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
