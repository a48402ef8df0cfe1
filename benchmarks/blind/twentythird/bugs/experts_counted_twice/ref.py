"""A mixture of experts over two gloo ranks. Each rank owns two experts, all ranks send their rows to the owners."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.nn.functional import all_gather, all_reduce

DIM, HIDDEN, PER_RANK = 12, 32, 2


class Experts(nn.Module):
    """The experts of this rank, as two stacked matrices."""

    def __init__(self, gen):
        super().__init__()
        self.up = nn.Parameter(torch.randn(PER_RANK, DIM, HIDDEN, generator=gen) * DIM ** -0.5)
        self.down = nn.Parameter(torch.randn(PER_RANK, HIDDEN, DIM, generator=gen) * HIDDEN ** -0.5)

    def forward(self, rows, weights):
        hidden = torch.einsum("nd,edh->enh", rows, self.up).relu()
        return torch.einsum("enh,ehd,ne->nd", hidden, self.down, weights)


class MoE(nn.Module):
    def __init__(self, rank, world, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.rank, self.world = rank, world
        self.stem, self.head = nn.Linear(DIM, DIM), nn.Linear(DIM, 1)
        self.router = nn.Linear(DIM, world * PER_RANK, bias=False)
        self.experts = Experts(torch.Generator().manual_seed(seed * 100 + rank))

    def forward(self, x):
        h = torch.tanh(self.stem(x))
        gate = self.router(h).softmax(-1)
        top = gate.topk(2, dim=-1)
        gate = torch.zeros_like(gate).scatter(1, top.indices, top.values / top.values.sum(-1, keepdim=True))
        rows, gates = (torch.cat(all_gather(t)) for t in (h, gate))
        mine = gates[:, self.rank * PER_RANK:(self.rank + 1) * PER_RANK]
        out = all_reduce(self.experts(rows, mine))
        return self.head(h + out.chunk(self.world)[self.rank]).squeeze(-1)


def reduce_gradients(model, world):
    """Replicated weights take the mean over ranks. Experts have met the rows of every rank in backward already."""
    for name, p in model.named_parameters():
        if name.startswith("experts."):
            p.grad.div_(world)
        else:
            dist.all_reduce(p.grad)
            p.grad.div_(world)


def rows_for(gen, n=32):
    x = torch.randn(n, DIM, generator=gen)
    corner = (x[:, 0] > 0).long() * 2 + (x[:, 1] > 0).long()
    signs = torch.tensor([[1.0, -1.0, 1.0], [-1.0, 1.0, 1.0], [1.0, 1.0, -1.0], [-1.0, -1.0, -1.0]])[corner]
    return x, (signs * x[:, 2:5]).sum(1)


def work(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    model = MoE(rank, world, args.seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    gen = torch.Generator().manual_seed(args.seed * 10 + rank)
    expert_norm = dense_norm = 0.0
    for step in range(args.steps):
        x, y = rows_for(gen)
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        reduce_gradients(model, world)
        optimizer.step()
        expert_norm += model.experts.down.grad.norm().item() / args.steps
        dense_norm += model.stem.weight.grad.norm().item() / args.steps
        if rank == 0 and (step + 1) % 30 == 0:
            print(f"step {step + 1:3d} loss {loss.item():.4f}", flush=True)
    x, y = rows_for(torch.Generator().manual_seed(4321 + rank), 256)
    with torch.no_grad():
        error = F.mse_loss(model(x), y)
    dist.all_reduce(error)
    if rank == 0:
        print(f"EVIDENCE expert_to_dense={expert_norm / dense_norm:.4f} test={error.item() / world:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.03)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(work, args=(2, args, os.path.join(folder, "store")), nprocs=2)
