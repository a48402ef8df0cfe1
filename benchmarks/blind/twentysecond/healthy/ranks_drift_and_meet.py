"""Local SGD on two gloo ranks: parameters differ for eight steps, then both take the mean. Momentum stays at home."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F


def rows_of(rank, gen):
    teacher = torch.randn(12, 3, generator=torch.Generator().manual_seed(6))
    x = torch.randn(32, 12, generator=gen) + 0.3 * rank
    return x, (x @ teacher).argmax(1)


@torch.no_grad()
def take_the_mean(model):
    for p in model.parameters():
        dist.all_reduce(p)
        p /= dist.get_world_size()


def worker(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    gen = torch.Generator().manual_seed(10 * args.seed + rank)
    for step in range(args.steps):
        x, y = rows_of(rank, gen)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % args.meet_every == 0 or step + 1 == args.steps:
            take_the_mean(model)
    if rank == 0:
        x, y = rows_of(0, torch.Generator().manual_seed(77))
        print(f"RESULT loss={loss.item():.4f} held_out={F.cross_entropy(model(x), y).item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--steps", type=int, default=80)
    ap.add_argument("--meet-every", type=int, default=8)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(2, args, os.path.join(folder, "store")), nprocs=2)


if __name__ == "__main__":
    main()
