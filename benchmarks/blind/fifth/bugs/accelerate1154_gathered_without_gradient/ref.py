"""Two ranks learn embeddings of two views by contrast with the samples of both; gradients of parameters are averaged."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
RANKS, BATCH, TEMPERATURE = 2, 24, 0.1


class TwoTowers(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.left = nn.Sequential(nn.Linear(20, width), nn.ReLU(), nn.Linear(width, 16))
        self.right = nn.Sequential(nn.Linear(30, width), nn.ReLU(), nn.Linear(width, 16))

    def forward(self, a, b):
        return nn.functional.normalize(self.left(a), dim=-1), nn.functional.normalize(self.right(b), dim=-1)


class Gather(torch.autograd.Function):
    """Features of all ranks; their gradients come back from all of them."""

    @staticmethod
    def forward(ctx, features):
        parts = [torch.empty_like(features) for _ in range(RANKS)]
        dist.all_gather(parts, features)
        return torch.cat(parts)

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.contiguous()
        dist.all_reduce(gradient)
        return gradient.chunk(RANKS)[dist.get_rank()]


def gather(features):
    return Gather.apply(features)


def contrast(a, b):
    target = torch.arange(len(a)) + len(a) * dist.get_rank()
    forth = nn.functional.cross_entropy(a @ gather(b).T / TEMPERATURE, target)
    back = nn.functional.cross_entropy(b @ gather(a).T / TEMPERATURE, target)
    return (forth + back) / 2


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    to_a, to_b = torch.randn(6, 20), torch.randn(6, 30)
    model = DistributedDataParallel(TwoTowers())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    torch.manual_seed(args.seed + 100 + rank)
    for step in range(args.steps):
        hidden = torch.randn(BATCH, 6)
        a, b = model(hidden @ to_a + 0.5 * torch.randn(BATCH, 20), hidden @ to_b + 0.5 * torch.randn(BATCH, 30))
        loss = contrast(a, b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and step % 20 == 19:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)
    with_graph = gather(a).requires_grad
    if rank == 0:
        print(f"EVIDENCE gathered features have a graph: {with_graph}; the last loss is {loss.item():.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder + "/store",), nprocs=RANKS, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
