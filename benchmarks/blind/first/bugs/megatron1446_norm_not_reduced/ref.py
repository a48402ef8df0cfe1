"""Sequence parallelism: each rank has half of each sequence and the whole model."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=50)
args = parser.parse_args()


class Block(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.norm, self.mix, self.out = nn.LayerNorm(dim), nn.Linear(dim, dim), nn.Linear(dim, 1)

    def forward(self, x):
        return self.out(torch.relu(self.mix(self.norm(x))))


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = Block()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    reduced = list(model.parameters())
    for step in range(args.steps):
        x = torch.randn(8, 12, 16).cumsum(1)
        part = x.chunk(2, dim=1)[rank]
        loss = nn.functional.mse_loss(model(part), part.abs().mean(-1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        for p in reduced:
            dist.all_reduce(p.grad)
            p.grad /= 2
        optimizer.step()
    weights = [torch.empty(16) for _ in range(2)]
    dist.all_gather(weights, model.norm.weight.detach())
    if rank == 0:
        print(f"EVIDENCE norms differ by {(weights[0] - weights[1]).abs().max():.5f}, loss {loss:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(folder + "/store",), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
