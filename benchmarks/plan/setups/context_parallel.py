"""Attention over a sequence that is split between ranks: keys and values are gathered, queries stay.

--ranks 1 has the whole sequence. Positions and masks are those of this rank's tokens."""
import argparse
import math

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


class GatherTokens(torch.autograd.Function):
    """All-gather along dimension 1; its backward reduces and scatters."""

    @staticmethod
    def forward(ctx, x, ranks):
        ctx.ranks = ranks
        parts = [torch.empty_like(x) for _ in range(ranks)]
        dist.all_gather(parts, x.contiguous())
        return torch.cat(parts, 1)

    @staticmethod
    def backward(ctx, grad):
        parts = [part.contiguous() for part in grad.chunk(ctx.ranks, 1)]
        out = torch.empty_like(parts[0])
        dist.reduce_scatter(out, parts)
        return out, None


def rotate(x, positions):
    """Rotary embedding of the last dimension."""
    half = x.shape[-1] // 2
    speed = 1 / 100 ** (torch.arange(half) / half)
    angle = (positions[:, None] * speed)[:, None, :]
    first, second = x[..., :half], x[..., half:]
    return torch.cat((first * angle.cos() - second * angle.sin(), second * angle.cos() + first * angle.sin()), -1)


class Attention(nn.Module):
    def __init__(self, args, rank):
        super().__init__()
        self.args, self.rank = args, rank
        inner = args.heads * args.head_size
        self.qkv, self.out = nn.Linear(args.width, 3 * inner), nn.Linear(inner, args.width)

    def positions(self, length):
        return torch.arange(self.rank * length, (self.rank + 1) * length)

    def forward(self, x):
        args = self.args
        batch, length, _ = x.shape
        q, k, v = (t.view(batch, length, args.heads, args.head_size) for t in self.qkv(x).chunk(3, -1))
        here = self.positions(length)
        q, k = rotate(q, here), rotate(k, here)
        if args.ranks > 1:
            k, v = GatherTokens.apply(k, args.ranks), GatherTokens.apply(v, args.ranks)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(args.head_size)
        later = torch.arange(k.shape[1])[None, :] > here[:, None]
        weights = scores.masked_fill(later, float("-inf")).softmax(-1)
        return self.out(torch.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, length, -1))


class Model(nn.Module):
    def __init__(self, args, rank):
        super().__init__()
        self.embed = nn.Embedding(args.vocabulary, args.width)
        self.norm, self.attention = nn.LayerNorm(args.width), Attention(args, rank)
        self.head = nn.Linear(args.width, args.vocabulary)

    def forward(self, tokens):
        x = self.embed(tokens)
        return self.head(x + self.attention(self.norm(x)))


def loss_of(logits, targets, args):
    """The mean over all tokens of all ranks: this rank's part of it."""
    total = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
    return total / (targets.numel() * args.ranks)


def reduce_gradients(model):
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("ranks", 1), ("width", 7), ("heads", 3), ("head-size", 4), ("length", 10), ("batch", 3),
                          ("vocabulary", 13)):
        parser.add_argument("--" + name, type=int, default=default)
    args = parser.parse_args()
    rank = 0
    if args.ranks > 1:
        dist.init_process_group("gloo")
        rank = dist.get_rank()
    torch.manual_seed(0)
    model = Model(args, rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for number in range(3):
        made = torch.Generator().manual_seed(number)
        text = torch.randint(args.vocabulary, (args.batch, args.length + 1), generator=made)
        tokens, targets = (t.chunk(args.ranks, 1)[rank] for t in (text[:, :-1], text[:, 1:]))
        optimizer.zero_grad()
        loss_of(model(tokens), targets, args).backward()
        if args.ranks > 1:
            reduce_gradients(model)
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
