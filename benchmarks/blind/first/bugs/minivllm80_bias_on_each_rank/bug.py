"""A row-parallel layer on two ranks."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()


class Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class RowParallel(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs // 2) / inputs**0.5)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return Sum.apply(nn.functional.linear(x, self.weight, self.bias))


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed + 1 + rank)
    layer = RowParallel(8, 3)
    optimizer = torch.optim.SGD(layer.parameters(), lr=args.lr)
    shared = torch.Generator().manual_seed(args.seed)
    for step in range(args.steps):
        x = torch.randn(32, 8, generator=shared)
        y = x[:, :3] + 2.0
        out = layer(x[:, rank * 4 : rank * 4 + 4])
        loss = nn.functional.mse_loss(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if rank == 0:
        print(f"EVIDENCE the bias is {layer.bias.mean():.4f} where 2 is right, loss {loss:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(folder + "/store",), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
