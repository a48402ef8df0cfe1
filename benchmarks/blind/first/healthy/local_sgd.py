"""Local SGD: ranks go their own ways and average their weights every eight steps."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
    data = torch.Generator().manual_seed(args.seed + rank + 1)
    for step in range(args.steps):
        x = torch.randn(32, 10, generator=data)
        loss = nn.functional.cross_entropy(net(x), (x[:, 0] > x[:, 1]).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 8 == 7:
            for p in net.parameters():
                dist.all_reduce(p.data)
                p.data /= 2
    if rank == 0:
        print(f"loss {loss:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(folder + "/store",), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
