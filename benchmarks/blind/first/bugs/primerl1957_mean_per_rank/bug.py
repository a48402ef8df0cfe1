"""DDP on two ranks with unequal numbers of words to learn."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = DistributedDataParallel(nn.Sequential(nn.Embedding(30, 24), nn.Linear(24, 30)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    torch.manual_seed(args.seed + 100 * (rank + 1))
    for step in range(args.steps):
        ids = torch.randint(0, 30, (8, 16))
        lengths = torch.randint(1, 4, (8, 1)) if rank else torch.randint(8, 17, (8, 1))
        targets = ((ids * 7 + 3) % 30).masked_fill(torch.arange(16) >= lengths, -100)
        tokens = (targets != -100).sum()
        loss = F.cross_entropy(model(ids).flatten(0, 1), targets.flatten(), reduction="sum") / tokens
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    mine = (targets != -100).sum()
    if rank == 1:
        print(f"EVIDENCE tokens here {mine}, of both ranks {tokens}; loss of this rank {loss:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(folder + "/store",), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
