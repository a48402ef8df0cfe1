"""Two ranks hold records of two kinds; gradients are averaged by hand and clipped."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn

WORLD, LIMIT = 2, 0.5


def average_gradients(model):
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad /= WORLD


def make_data(rank, seed):
    generator = torch.Generator().manual_seed(seed * 10 + rank)
    x = torch.randn(900, 6, generator=generator)
    x[:, 5] = rank
    y = x[:, 0] - 0.5 * x[:, 1] if rank == 0 else 6 * x[:, 0] + 4 * x[:, 2]
    return x, y


def worker(rank, port, args):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    x, y = make_data(rank, args.seed)
    model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.8)
    torch.manual_seed(args.seed * 100 + rank)
    for step in range(args.steps):
        rows = torch.randint(0, 800, (32,))
        loss = F.mse_loss(model(x[rows]).squeeze(1), y[rows])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), LIMIT)
        average_gradients(model)
        optimizer.step()
        if rank == 0 and step % 80 == 0:
            print(f"step {step}: loss {loss.item():.4f}", flush=True)
    with torch.no_grad():
        errors = torch.zeros(WORLD)
        errors[rank] = F.mse_loss(model(x[800:]).squeeze(1), y[800:])
        dist.all_reduce(errors)
        norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
    if rank == 0:
        print(f"EVIDENCE errors {errors[0]:.4f} and {errors[1]:.4f}, last norm {norm:.4f}")
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--steps", type=int, default=240)
    args = parser.parse_args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(worker, (port, args), nprocs=WORLD)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
