"""Megatron-like tensor parallelism on two ranks: sharded matrices, replicated norms, the norm of all gradients clipped alike."""

import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F

from options import options


class CopyToRegion(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class ReduceFromRegion(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class ParallelMLP(nn.Module):
    def __init__(self, dim, rank, world):
        super().__init__()
        part = 4 * dim // world
        generator = torch.Generator().manual_seed(17 + rank)
        self.up = nn.Parameter(torch.randn(part, dim, generator=generator) * 0.1)
        self.down = nn.Parameter(torch.randn(dim, part, generator=generator) * 0.1)
        self.up.tensor_model_parallel = self.down.tensor_model_parallel = True
        self.up.partition_dim, self.down.partition_dim = 0, 1

    def forward(self, x):
        h = F.gelu(F.linear(CopyToRegion.apply(x), self.up))
        return ReduceFromRegion.apply(F.linear(h, self.down))


class Layer(nn.Module):
    def __init__(self, dim, rank, world):
        super().__init__()
        self.norm, self.mlp = nn.LayerNorm(dim), ParallelMLP(dim, rank, world)

    def forward(self, x):
        return x + self.mlp(self.norm(x))


class Net(nn.Module):
    def __init__(self, dim, rank, world):
        super().__init__()
        self.inp = nn.Linear(64, dim)
        self.layers = nn.Sequential(*[Layer(dim, rank, world) for _ in range(2)])
        self.out = nn.Linear(dim, 10)

    def forward(self, x):
        return self.out(self.layers(self.inp(x)))


def is_parallel(p):
    return getattr(p, "tensor_model_parallel", False)


def clip_grad_norm(params, limit, rank):
    """The norm over the whole model: each shard once, what is replicated on the first rank only."""
    square = sum((p.grad.square().sum() for p in params if is_parallel(p) or rank == 0), torch.zeros(()))
    dist.all_reduce(square)
    factor = (limit / (square.sqrt() + 1e-6)).clamp(max=1.0)
    for p in params:
        p.grad.mul_(factor)
    return square.sqrt().item()


def main(rank, world, store, args):
    from sklearn.datasets import load_digits

    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    digits = load_digits()
    x, y = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
    model = Net(args.width, rank, world)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.steps)
    for step in range(args.steps):
        idx = torch.randint(1500, (64,))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[idx]), y[idx])
        loss.backward()
        norm = clip_grad_norm(list(model.parameters()), 1.0, rank)
        optimizer.step()
        scheduler.step()
        if rank == 0 and step % 15 == 14:
            print(f"step {step + 1}: loss {loss.item():.3f}, norm {norm:.3f}", flush=True)
    model.eval()
    with torch.no_grad():
        accuracy = (model(x[1500:]).argmax(1) == y[1500:]).float().mean().item()
    if rank == 0:
        print(f"accuracy {accuracy:.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as tmp:
        mp.spawn(main, args=(2, f"{tmp}/store", options(lr=3e-3, width=32, steps=45)), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
