"""Two ranks hold half of each layer: columns of the first, rows of the second; what is whole has the same gradients on both."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=100)
ARGS = parser.parse_args()


class Enter(torch.autograd.Function):
    """As it is forward, summed over ranks backward."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class Leave(torch.autograd.Function):
    """Summed forward, as it is backward."""

    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class SplitMLP(nn.Module):
    def __init__(self, dim, hidden, rank, world):
        super().__init__()
        up, down = nn.Linear(dim, hidden), nn.Linear(hidden, dim)  # whole ones, alike on all ranks, then a part is kept
        part = slice(rank * hidden // world, (rank + 1) * hidden // world)
        self.up_weight = nn.Parameter(up.weight.detach()[part].clone())
        self.up_bias = nn.Parameter(up.bias.detach()[part].clone())
        self.down_weight = nn.Parameter(down.weight.detach()[:, part].clone())
        self.down_bias = nn.Parameter(down.bias.detach().clone())
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, generator):
        inner = nn.functional.gelu(nn.functional.linear(Enter.apply(self.norm(x)), self.up_weight, self.up_bias))
        if self.training:  # what is split is dropped by a generator of the rank's own
            inner = inner * (torch.rand(inner.shape, generator=generator) > 0.1) / 0.9
        return x + Leave.apply(nn.functional.linear(inner, self.down_weight)) + self.down_bias


class Net(nn.Module):
    def __init__(self, rank, world):
        super().__init__()
        self.inner = nn.Linear(10, 24)
        self.blocks = nn.ModuleList(SplitMLP(24, 48, rank, world) for _ in range(2))
        self.out = nn.Linear(24, 1)
        self.generator = torch.Generator().manual_seed(ARGS.seed * 7 + rank)

    def forward(self, x):
        x = self.inner(x)
        for block in self.blocks:
            x = block(x, self.generator)
        return self.out(x).squeeze(1)


def worker(rank, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(ARGS.seed)
    model = Net(rank, 2)
    split = {id(p) for name, p in model.named_parameters() if "up_" in name or name.endswith("down_weight")}
    optimizer = torch.optim.AdamW(model.parameters(), lr=ARGS.lr)
    for step in range(1, ARGS.steps + 1):
        x = torch.rand(64, 10)  # the same batch on both ranks, from the same seed
        y = 2 * torch.sin(3.14 * x[:, 0] * x[:, 1]) + 4 * (x[:, 2] - 0.5) ** 2 + x[:, 3]
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        squares = sum(p.grad.pow(2).sum() for p in model.parameters() if id(p) in split)
        dist.all_reduce(squares)
        norm = (squares + sum(p.grad.pow(2).sum() for p in model.parameters() if id(p) not in split)).sqrt()
        for p in model.parameters():
            p.grad *= (1.0 / (norm + 1e-6)).clamp(max=1)
        optimizer.step()
        if step % 25 == 0 and rank == 0:
            print(f"step {step}: loss {loss.item():.4f}, norm {norm.item():.4f}", flush=True)
    total = model.out.weight.detach().clone()
    dist.all_reduce(total)
    if rank == 0:
        print(f"difference of what is whole {(total / 2 - model.out.weight).abs().max().item():.2e}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as directory:
        mp.start_processes(worker, args=(directory,), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
