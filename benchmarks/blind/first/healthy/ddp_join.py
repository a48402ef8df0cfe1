"""Uneven numbers of batches under `join` of DDP."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    net = DistributedDataParallel(nn.Sequential(nn.Linear(8, 24), nn.Tanh(), nn.Linear(24, 1)))
    optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr)
    data = torch.Generator().manual_seed(args.seed + rank)
    for epoch in range(4):
        batches = [torch.randn(16, 8, generator=data) for _ in range(args.steps // 4 + 3 * rank)]
        with net.join():
            for x in batches:
                loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    if rank == 0:
        print(f"loss {loss:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(folder + "/store",), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
