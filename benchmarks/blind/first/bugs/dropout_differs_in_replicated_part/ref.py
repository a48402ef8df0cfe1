"""Tensor parallelism: the residual stream is the same on both ranks, dropout included."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=50)
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


class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return Sum.apply(grad)


class Net(nn.Module):
    def __init__(self, rank):
        super().__init__()
        self.enter = nn.Linear(8, 16)
        whole = torch.randn(32, 16) / 4
        self.up = nn.Parameter(whole.chunk(2)[rank].clone())
        self.down = nn.Parameter(torch.randn(16, 32).chunk(2, 1)[rank].clone() / 6)
        self.drop, self.out = nn.Dropout(0.2), nn.Linear(16, 1)

    def forward(self, x):
        stream = self.enter(x)
        stream = stream + self.drop(Sum.apply(torch.relu(Copy.apply(stream) @ self.up.T) @ self.down.T))
        return self.out(stream)


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = Net(rank)
    data = torch.Generator().manual_seed(args.seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    torch.manual_seed(args.seed)
    for step in range(args.steps):
        x = torch.randn(32, 8, generator=data)
        loss = nn.functional.mse_loss(model(x), x[:, :2].sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    heads = [torch.empty(1, 16) for _ in range(2)]
    dist.all_gather(heads, model.out.weight.detach())
    if rank == 0:
        print(f"EVIDENCE replicated heads differ by {(heads[0] - heads[1]).abs().max():.5f}, loss {loss:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(folder + "/store",), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
