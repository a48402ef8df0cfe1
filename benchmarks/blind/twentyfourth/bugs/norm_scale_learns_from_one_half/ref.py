"""A feed-forward block split over two gloo ranks by hand; the scale of its norm is a replicated DTensor."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Partial, Replicate, distribute_tensor

DIM, HIDDEN = 16, 48


class IntoRegion(torch.autograd.Function):
    """Same values on all ranks; gradients of the ranks are added."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.all_reduce(grad)
        return grad


class OutOfRegion(torch.autograd.Function):
    """Parts of the ranks are added; the gradient goes to all."""

    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class RMSNorm(nn.Module):
    def __init__(self, mesh):
        super().__init__()
        self.weight = nn.Parameter(distribute_tensor(torch.ones(DIM), mesh, [Replicate()]))

    def forward(self, x):
        weight = self.weight.to_local(grad_placements=[Partial()])
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight


class SplitMLP(nn.Module):
    def __init__(self, mesh, rank, world):
        super().__init__()
        self.stem = nn.Linear(DIM, DIM)
        self.norm = RMSNorm(mesh)
        up, down = torch.randn(HIDDEN, DIM) * DIM ** -0.5, torch.randn(DIM, HIDDEN) * HIDDEN ** -0.5
        self.up = nn.Parameter(up.chunk(world, 0)[rank].clone())
        self.down = nn.Parameter(down.chunk(world, 1)[rank].clone())
        self.head = nn.Linear(DIM, 1)

    def forward(self, x):
        h = self.stem(x)
        inner = F.gelu(F.linear(self.norm(IntoRegion.apply(h)), self.up))
        return self.head(h + OutOfRegion.apply(F.linear(inner, self.down))).squeeze(-1)


def batch(gen, n=64):
    x = torch.randn(n, DIM, generator=gen)
    return x, torch.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.5 * x[:, 3].abs()


def main(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    mesh = init_device_mesh("cpu", (world,))
    torch.manual_seed(args.seed)
    model = SplitMLP(mesh, rank, world)
    plain = [p for n, p in model.named_parameters() if n != "norm.weight"]
    optimizers = [torch.optim.Adam(plain, lr=args.lr), torch.optim.Adam([model.norm.weight], lr=args.lr)]
    gen = torch.Generator().manual_seed(args.seed + 50)       # all ranks of the split model read the same rows
    for step in range(args.steps):
        x, y = batch(gen)
        loss = F.mse_loss(model(x), y)
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        if rank == 0 and (step + 1) % 40 == 0:
            print(f"step {step + 1} loss {loss.item():.4f}", flush=True)
    scale = model.norm.weight.to_local().detach()
    other = scale.clone()
    dist.broadcast(other, src=0)
    gap = (other - scale).abs().mean()
    dist.all_reduce(gap)
    x, y = batch(torch.Generator().manual_seed(8), 2000)
    with torch.no_grad():
        error = F.mse_loss(model(x), y).item()
    if rank == 0:
        print(f"EVIDENCE gap_of_scales={gap.item():.5f} test={error:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--steps", type=int, default=160)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(2, args, os.path.join(folder, "store")), nprocs=2)
