"""Two hospitals, two gloo ranks: the trunk is shared and its gradients are averaged by hand, each rank keeps a head of its own."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F


def patients(site, gen, count=32):
    """Measurements obey the same factors everywhere, each site codes its three outcomes in its own way."""
    factors = torch.randn(count, 4, generator=gen)
    mix = torch.randn(4, 14, generator=torch.Generator().manual_seed(8))
    outcome = (factors @ torch.randn(4, 3, generator=torch.Generator().manual_seed(50 + site))).argmax(1)
    return factors @ mix + 0.2 * torch.randn(count, 14, generator=gen), outcome


def average_trunk(trunk, world):
    for p in trunk.parameters():
        dist.all_reduce(p.grad)
        p.grad.div_(world)


def site(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    trunk = nn.Sequential(nn.Linear(14, 32), nn.ReLU(), nn.Linear(32, 16))
    torch.manual_seed(args.seed + 100 + rank)
    head = nn.Sequential(nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam([{"params": trunk.parameters()}, {"params": head.parameters(), "lr": 2 * args.lr}], lr=args.lr)
    gen = torch.Generator().manual_seed(args.seed * 2 + rank)
    for step in range(args.steps):
        x, y = patients(rank, gen)
        loss = F.cross_entropy(head(trunk(x)), y)
        optimizer.zero_grad()
        loss.backward()
        average_trunk(trunk, world)
        optimizer.step()
    x, y = patients(rank, torch.Generator().manual_seed(300), 400)
    with torch.no_grad():
        right = (head(trunk(x)).argmax(1) == y).float().mean()
    dist.all_reduce(right)
    if rank == 0:
        print(f"RESULT loss={loss.item():.4f} accuracy={right.item() / world:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=100)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(site, args=(2, args, os.path.join(folder, "store")), nprocs=2)
