"""Price regression on a table, two data-parallel gloo ranks; every rank reads the files of its own regions."""
import argparse
import os
import tempfile

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

WORLD, REGIONS, KINDS = 2, 6, 8


def make_table(seed, rows_per_region=700):
    """Six regions with their own price level and slope, eight kinds of flats, five numeric columns."""
    world = np.random.default_rng(7)
    level, slope = world.normal(0, 1.5, REGIONS), world.normal(1.0, 0.8, REGIONS)
    kind_effect = world.normal(0, 1.0, KINDS)
    rng = np.random.default_rng(seed)
    region = np.repeat(np.arange(REGIONS), rows_per_region)
    kind = rng.integers(KINDS, size=len(region))
    num = rng.normal(size=(len(region), 5)) + 0.4 * region[:, None] / REGIONS
    y = level[region] + slope[region] * num[:, 0] + kind_effect[kind] + 0.5 * num[:, 1] * num[:, 2]
    y = y + 0.3 * rng.normal(size=len(y))
    as_float = lambda a: torch.tensor(a, dtype=torch.float32)
    return torch.tensor(region), torch.tensor(kind), as_float(num), as_float(y)


class Shard:
    """The rows of the regions that belong to one rank."""

    def __init__(self, table, rank, seed):
        region = table[0]
        mine = region // (REGIONS // WORLD) == rank
        self.columns = [col[mine] for col in table]
        self.gen = torch.Generator().manual_seed(1000 * seed + rank)

    def batch(self, size):
        idx = torch.randint(len(self.columns[0]), (size,), generator=self.gen)
        return [col[idx] for col in self.columns]


class TableNet(nn.Module):
    def __init__(self, hidden=96):
        super().__init__()
        self.region, self.kind = nn.Embedding(REGIONS, 8), nn.Embedding(KINDS, 8)
        self.body = nn.Sequential(nn.Linear(21, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU(),
                                  nn.Linear(hidden, 1))

    def forward(self, region, kind, num):
        return self.body(torch.cat([self.region(region), self.kind(kind), num], 1)).squeeze(1)


def compute_loss(model, batch):
    region, kind, num, y = batch
    return F.smooth_l1_loss(model(region, kind, num), y)


def worker(rank, args, init_file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{init_file}", rank=rank, world_size=WORLD)
    torch.manual_seed(args.seed)
    model = DDP(TableNet())
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 3 * args.steps)
    shard = Shard(make_table(args.seed), rank, args.seed)
    for step in range(1, args.steps + 1):
        for _ in range(3):
            loss = compute_loss(model, shard.batch(128))
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            opt.step()
            sched.step()
        if step % 20 == 0 and rank == 0:
            print(f"step {step:4d} loss {loss.item():.4f}", flush=True)

    if rank == 0:
        region, kind, num, y = make_table(args.seed + 10_000, rows_per_region=200)
        with torch.no_grad():
            err = (model.module(region, kind, num) - y).pow(2)
        per_region = [round(err[region == r].mean().item(), 3) for r in range(REGIONS)]
        print(f"EVIDENCE test_mse={err.mean().item():.4f} by_region={per_region}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=100)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(args, os.path.join(folder, "init")), nprocs=WORLD)


if __name__ == "__main__":
    main()
