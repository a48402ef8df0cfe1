"""Muon with its state divided over two gloo ranks (ZeRO by hand): each rank owns half of the rows of every matrix."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

DIM, CLASSES = 24, 8


def orthogonalize(matrix, steps=7):
    """Newton-Schulz: brings all singular values near to one."""
    x = matrix / (matrix.norm() + 1e-7)
    tall = x.size(0) > x.size(1)
    x = x.T if tall else x
    for _ in range(steps):
        gram = x @ x.T
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return x.T if tall else x


class ShardedMuon:
    def __init__(self, matrices, lr, momentum, rank, world):
        self.matrices, self.lr, self.momentum = list(matrices), lr, momentum
        self.rank, self.world = rank, world
        self.buffers = [torch.zeros_like(self.rows(p)) for p in self.matrices]
        self.spread = 0.0

    def rows(self, p):
        return p.detach().chunk(self.world, 0)[self.rank]

    def gather(self, shard):
        parts = [torch.empty_like(shard) for _ in range(self.world)]
        dist.all_gather(parts, shard.contiguous())
        return torch.cat(parts)

    @torch.no_grad()
    def step(self):
        for p, buffer in zip(self.matrices, self.buffers):
            dist.all_reduce(p.grad)
            grad = p.grad.div_(self.world).chunk(self.world, 0)[self.rank]
            buffer.mul_(self.momentum).add_(grad)
            update = orthogonalize(self.gather(buffer)).chunk(self.world, 0)[self.rank]
            shard = self.rows(p) - self.lr * update
            before = p.clone()
            p.copy_(self.gather(shard))
            self.spread = torch.linalg.matrix_norm((before - p) / self.lr, 2).item()


class Network(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.first = nn.Linear(DIM, width)
        self.hidden = nn.ModuleList([nn.Linear(width, width, bias=False) for _ in range(2)])
        self.last = nn.Linear(width, CLASSES)

    def forward(self, x):
        x = torch.tanh(self.first(x))
        for layer in self.hidden:
            x = x + torch.tanh(layer(x))
        return self.last(x)


def batch(gen, n=48):
    rule = torch.randn(DIM, CLASSES, generator=torch.Generator().manual_seed(5))
    x = torch.randn(n, DIM, generator=gen)
    return x, (torch.tanh(x) @ rule + torch.roll(x, 1, 1) * x @ rule * 0.3).argmax(1)


def main(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = Network()
    matrices = [layer.weight for layer in model.hidden]
    others = [p for n, p in model.named_parameters() if not n.startswith("hidden")]
    muon = ShardedMuon(matrices, args.lr, 0.9, rank, world)
    adam = torch.optim.Adam(others, lr=3e-3)
    gen = torch.Generator().manual_seed(args.seed * 10 + rank)
    spread = 0.0
    for step in range(args.steps):
        x, y = batch(gen)
        loss = nn.functional.cross_entropy(model(x), y)
        model.zero_grad()
        loss.backward()
        for p in others:
            dist.all_reduce(p.grad)
            p.grad.div_(world)
        muon.step()
        adam.step()
        spread += muon.spread / args.steps
        if rank == 0 and (step + 1) % 20 == 0:
            print(f"step {step + 1} loss {loss.item():.4f}", flush=True)
    x, y = batch(torch.Generator().manual_seed(321), 1500)
    with torch.no_grad():
        test = nn.functional.cross_entropy(model(x), y).item()
    if rank == 0:
        print(f"EVIDENCE largest_singular_value_of_update={spread:.4f} test={test:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(2, args, os.path.join(folder, "store")), nprocs=2)
