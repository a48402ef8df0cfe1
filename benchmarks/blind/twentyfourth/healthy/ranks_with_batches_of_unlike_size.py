"""DDP on two gloo ranks of unlike speed: one takes 12 rows a step, the other 36, and each loss is weighted by its rows."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

DIM, CLASSES = 18, 5


def batch(gen, n):
    rule = torch.randn(DIM, CLASSES, generator=torch.Generator().manual_seed(6))
    x = torch.randn(n, DIM, generator=gen)
    return x, (x @ rule).argmax(1)


def main(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = DDP(nn.Sequential(nn.Linear(DIM, 64), nn.ReLU(), nn.Linear(64, CLASSES)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    gen = torch.Generator().manual_seed(args.seed * 9 + rank)
    for step in range(args.steps):
        x, y = batch(gen, (12, 36)[rank])
        rows = torch.tensor(float(len(x)))
        dist.all_reduce(rows)
        # DDP divides by the number of ranks; the factor makes this the mean over all 48 rows
        loss = F.cross_entropy(model(x), y, reduction="sum") * world / rows
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        shown = loss.detach().clone()
        dist.all_reduce(shown)
        if rank == 0 and (step + 1) % 10 == 0:
            print(f"step {step + 1} loss {shown.item() / world:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(2, args, os.path.join(folder, "store")), nprocs=2)
