"""Two ranks share the rows of an embedding and of the head; words of other ranks' rows become zeros before the sum."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
RANKS, WORDS, WIDTH, BATCH = 2, 32, 24, 48


class SumForward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class SumBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.clone()
        dist.all_reduce(gradient)
        return gradient


class SharedEmbedding(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.rows = WORDS // RANKS
        self.start = dist.get_rank() * self.rows
        self.weight = nn.Parameter(table[self.start:self.start + self.rows].clone())

    def forward(self, words):
        elsewhere = (words < self.start) | (words >= self.start + self.rows)
        local = (words - self.start).masked_fill(elsewhere, 0)
        vectors = nn.functional.embedding(local, self.weight)
        vectors = vectors.masked_fill(elsewhere.unsqueeze(-1), 0.0)
        return SumForward.apply(vectors)


class SharedHead(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.weight = nn.Parameter(table.chunk(RANKS)[dist.get_rank()].clone())

    def forward(self, x):
        mine = SumBackward.apply(x) @ self.weight.T
        parts = [torch.empty_like(mine) for _ in range(RANKS)]
        dist.all_gather(parts, mine.detach())
        parts[dist.get_rank()] = mine
        return torch.cat(parts, -1)


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    follows = torch.randperm(WORDS)
    table = torch.randn(WORDS, WIDTH)
    embed, head = SharedEmbedding(table), SharedHead(0.1 * torch.randn(WORDS, WIDTH))
    body = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH))
    model = nn.Sequential(embed, body, head)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        words = torch.randint(WORDS, (BATCH,))
        logits = model(words)
        loss = nn.functional.cross_entropy(logits, follows[words])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and step % 15 == 14:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)
    with torch.no_grad():
        parts = [torch.empty_like(embed.weight) for _ in range(RANKS)]
        dist.all_gather(parts, embed.weight.detach())
        off = (embed(torch.arange(WORDS)) - torch.cat(parts)).norm(dim=-1).mean()
    if rank == 0:
        print(f"EVIDENCE vectors are {off.item():.3f} away from the rows of the table; the loss is {loss.item():.3f}",
              flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder + "/store",), nprocs=RANKS, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
