"""Megatron style tensor parallel MLP blocks: both ranks read the same batch, hold different shards, and reduce no gradients."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F


class EnterParallel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.all_reduce(grad)
        return grad


class LeaveParallel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class ParallelMLP(nn.Module):
    def __init__(self, dim, hidden, rank, world, drop=0.1):
        super().__init__()
        part = hidden // world
        mine = slice(rank * part, (rank + 1) * part)
        full_in, full_out = torch.randn(hidden, dim) * dim ** -0.5, torch.randn(dim, hidden) * hidden ** -0.5
        self.w_in, self.b_in = nn.Parameter(full_in[mine].clone()), nn.Parameter(torch.zeros(part))
        self.w_out, self.b_out = nn.Parameter(full_out[:, mine].clone()), nn.Parameter(torch.zeros(dim))
        self.drop = drop
        self.shard_rng = torch.Generator().manual_seed(1000 + rank)     # hidden units differ, so do their masks

    def forward(self, x):
        h = F.gelu(F.linear(EnterParallel.apply(x), self.w_in, self.b_in))
        if self.training:
            keep = torch.rand(h.shape, generator=self.shard_rng) >= self.drop
            h = h * keep / (1 - self.drop)
        return LeaveParallel.apply(F.linear(h, self.w_out)) + self.b_out       # the bias once, after the sum


class Mixer(nn.Module):
    def __init__(self, rank, world, dim=64, hidden=192, depth=3, dim_in=20):
        super().__init__()
        self.inp = nn.Linear(dim_in, dim)
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(depth + 1))
        self.mlps = nn.ModuleList(ParallelMLP(dim, hidden, rank, world) for _ in range(depth))
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        h = self.inp(x)
        for norm, mlp in zip(self.norms, self.mlps):
            h = h + mlp(norm(h))
        return self.out(self.norms[-1](h)).squeeze(-1)


def table(n, g):
    x = torch.randn(n, 20, generator=g)
    y = torch.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.5 * (x[:, 3] > 0).float() * x[:, 4]
    return x, y + 0.05 * torch.randn(n, generator=g)


def sharded_grad_norm(model):
    """Sharded weights add up over ranks, replicated ones count once."""
    sharded = torch.zeros(())
    once = torch.zeros(())
    for name, p in model.named_parameters():
        if name.endswith(("w_in", "b_in", "w_out")):
            sharded += p.grad.pow(2).sum()
        else:
            once += p.grad.pow(2).sum()
    dist.all_reduce(sharded)
    return (sharded + once).sqrt()


def worker(rank, world, args, init_file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{init_file}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)                       # same seed: replicated parts start alike
    model = Mixer(rank, world)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    g = torch.Generator().manual_seed(args.seed + 3)   # same batches on both ranks
    for step in range(1, args.steps + 1):
        x, y = table(args.batch, g)
        loss = F.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        scale = (1.0 / (sharded_grad_norm(model) + 1e-6)).clamp(max=1.0)
        for p in model.parameters():
            p.grad.mul_(scale)
        opt.step()
        if step % 20 == 0 and rank == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
    model.eval()
    with torch.no_grad():
        x, y = table(1000, torch.Generator().manual_seed(77))
        mse = F.mse_loss(model(x), y).item()
    if rank == 0:
        print(f"EVIDENCE test_mse={mse:.4f} target_variance={y.var().item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=4e-3)
    p.add_argument("--steps", type=int, default=120)
    p.add_argument("--batch", type=int, default=128)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        mp.spawn(worker, args=(2, args, os.path.join(tmp, "init")), nprocs=2)


if __name__ == "__main__":
    main()
