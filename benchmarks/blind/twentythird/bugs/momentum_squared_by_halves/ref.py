"""Muon for a small image net without convolutions whose weights are sharded over two gloo ranks with fully_shard."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor


def newton_schulz(matrix, rounds=5):
    """The nearest matrix whose singular values are about one."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x = matrix / (matrix.norm() + 1e-7)
    tall = x.size(0) > x.size(1)
    x = x.T if tall else x
    for _ in range(rounds):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x.T if tall else x


class Muon(torch.optim.Optimizer):
    """Orthogonalised momentum for hidden matrices."""

    def __init__(self, params, lr=0.02, momentum=0.95):
        super().__init__(params, dict(lr=lr, momentum=momentum))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                buf = self.state[p].setdefault("momentum_buffer", torch.zeros_like(p))
                buf.mul_(group["momentum"]).add_(p.grad)
                update = p.grad + group["momentum"] * buf
                whole = newton_schulz(update.full_tensor())
                direction = distribute_tensor(whole, p.device_mesh, p.placements, src_data_rank=None)
                scale = max(1.0, p.size(0) / p.size(1)) ** 0.5
                p.add_(direction, alpha=-group["lr"] * scale)


class Net(nn.Module):
    def __init__(self, side=8, width=48):
        super().__init__()
        self.inp = nn.Linear(side * side, width)
        self.hidden = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(3))
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, 4)

    def forward(self, x):
        x = self.inp(x.flatten(1))
        for layer in self.hidden:
            x = x + layer(F.gelu(F.layer_norm(x, x.shape[-1:])))
        return self.out(self.norm(x))


def pictures(gen, count=48, side=8):
    """Stripes of four directions with noise."""
    label = torch.randint(0, 4, (count,), generator=gen)
    ys, xs = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    lines = torch.stack([ys, xs, ys + xs, ys - xs]).float()[label]
    phase = 6.28 * torch.rand(count, 1, 1, generator=gen)
    return torch.sin(1.8 * lines + phase) + 0.8 * torch.randn(count, side, side, generator=gen), label


def singular_values(weight: DTensor):
    return torch.linalg.svdvals(weight.full_tensor())


def main(rank, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.manual_seed(args.seed)
    net = Net()
    fully_shard(net, mesh=init_device_mesh("cpu", (2,)))
    matrices = [layer.weight for layer in net.hidden]
    others = [p for p in net.parameters() if all(p is not m for m in matrices)]
    optimizers = [Muon(matrices, lr=args.lr), torch.optim.AdamW(others, lr=3e-3)]
    gen = torch.Generator().manual_seed(args.seed * 2 + rank)
    for step in range(args.steps):
        x, y = pictures(gen)
        net.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        before = matrices[0].full_tensor().detach().clone()
        for optimizer in optimizers:
            optimizer.step()
        moved = torch.linalg.svdvals(matrices[0].full_tensor().detach() - before) / args.lr
        if rank == 0 and step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f} move {moved.max().item():.3f}..{moved.median().item():.3f}", flush=True)
    x, y = pictures(torch.Generator().manual_seed(99), 512)
    with torch.no_grad():
        test = F.cross_entropy(net(x), y).item()
        top = singular_values(matrices[0]).max().item()
    if rank == 0:
        print(f"EVIDENCE largest_move={moved.max().item():.4f} largest_weight={top:.4f} test={test:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.02)
    ap.add_argument("--steps", type=int, default=60)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(args, os.path.join(folder, "store")), nprocs=2)
