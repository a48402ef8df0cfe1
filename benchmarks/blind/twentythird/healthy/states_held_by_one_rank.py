"""ZeRO of the first stage: each of two gloo ranks holds the Adam state of half of the weights and sends out what it has stepped."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel


def words(gen, count=32, length=12):
    """Is there a two after the first seven?"""
    ids = torch.randint(0, 10, (count, length), generator=gen)
    after = (ids == 7).cumsum(1) > 0
    return ids, ((ids == 2) & after).any(1).long()


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 16)
        self.rnn = nn.GRU(16, 32, batch_first=True)
        self.out = nn.Linear(32, 2)

    def forward(self, ids):
        return self.out(self.rnn(self.embed(ids))[1][-1])


def run(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = DistributedDataParallel(Reader())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam, lr=args.lr)
    gen = torch.Generator().manual_seed(args.seed * 4 + rank)
    for step in range(args.steps):
        ids, y = words(gen)
        loss = F.cross_entropy(model(ids), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if rank == 0:
        ids, y = words(torch.Generator().manual_seed(123), 500)
        with torch.no_grad():
            right = (model.module(ids).argmax(1) == y).float().mean().item()
        print(f"RESULT loss={loss.item():.4f} accuracy={right:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=100)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(run, args=(2, args, os.path.join(folder, "store")), nprocs=2)
