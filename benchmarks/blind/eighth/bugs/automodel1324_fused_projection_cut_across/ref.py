"""Attention that was trained on one rank goes on in tensor parallel on two: each rank has half of the heads."""

import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, WORDS, LENGTH = 32, 4, 10, 16


class CopyToRanks(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous()
        dist.all_reduce(grad)
        return grad


class ReduceFromRanks(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class Attention(nn.Module):
    """All heads if ranks is 1, else those of one rank."""

    def __init__(self, ranks=1):
        super().__init__()
        self.ranks, self.heads = ranks, HEADS // ranks
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH // ranks, bias=False)
        self.out = nn.Linear(WIDTH // ranks, WIDTH, bias=False)

    def forward(self, x):
        if self.ranks > 1:
            x = CopyToRanks.apply(x)
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        y = self.out(y)
        return ReduceFromRanks.apply(y) if self.ranks > 1 else y


class Counter(nn.Module):
    """Says for each place how often its word stands in the text."""

    def __init__(self, ranks=1):
        super().__init__()
        self.embed, self.norm = nn.Embedding(WORDS, WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention(ranks)
        self.head = nn.Sequential(nn.Linear(2 * WIDTH, 64), nn.ReLU(), nn.Linear(64, 6))

    def forward(self, words):
        x = self.embed(words)
        return self.head(torch.cat([x, self.attention(self.norm(x))], -1))


def shard(state, rank, ranks):
    """The part of a full state that a rank holds."""
    state = dict(state)
    qkv, out = state["attention.qkv.weight"], state["attention.out.weight"]
    state["attention.qkv.weight"] = qkv.unflatten(0, (3, -1)).chunk(ranks, dim=1)[rank].flatten(0, 1).clone()
    state["attention.out.weight"] = out.chunk(ranks, dim=1)[rank].clone()
    return state


def batch(generator, size=48):
    words = torch.randint(WORDS, (size, LENGTH), generator=generator)
    return words, ((words[:, :, None] == words[:, None]).sum(-1) - 1).clamp(max=5)


def train(model, lr, steps, generator, rank):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    losses = []
    for step in range(1, steps + 1):
        words, counts = batch(generator)
        loss = F.cross_entropy(model(words).flatten(0, 1), counts.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 25 == 0 and rank == 0:
            print(f"step {step} on {model.attention.ranks}: loss {loss.item():.4f}", flush=True)
    return losses


def worker(rank, args, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    full = Counter()
    before = train(full, args.lr, args.steps // 2, generator, rank)
    part = Counter(ranks=2)
    part.load_state_dict(shard(full.state_dict(), rank, 2))
    after = train(part, args.lr / 2, args.steps - args.steps // 2, generator, rank)
    if rank == 0:
        print(f"EVIDENCE loss {before[-1]:.4f} in the last step on one rank, {after[0]:.4f} in the first on two", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=200)
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(worker, args=(parser.parse_args(), os.path.join(folder, "store")), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
