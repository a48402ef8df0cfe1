# SPDX-License-Identifier: Apache-2.0
"""Vocabulary-parallel embedding, output layer and cross entropy with a z loss, all by hand. The hidden layer is split
by columns and rows. Bugs: no_copy (apple/ml-cross-entropy #42: the gradient that the split head sends back is not
summed over the ranks), gathered (Megatron-LM #7452, item 2: logits that are gathered already go to the parallel loss,
which adds log of the ranks), unmasked (Megatron-LM #926 asks what the mask of the embedding is for: here rows that
another rank holds are not set to zero before the sum)."""
import argparse
import math

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, WIDTH, HIDDEN, BATCH, LENGTH = 26, 10, 18, 3, 7


class Copy(torch.autograd.Function):
    """The same on all ranks; its gradient is summed."""
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad, group=ctx.group)
        return grad, None


class Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        x = x.clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class GatherLast(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.rank, ctx.size = dist.get_rank(group), dist.get_world_size(group)
        pieces = [torch.empty_like(x) for _ in range(ctx.size)]
        dist.all_gather(pieces, x.contiguous(), group=group)
        return torch.cat(pieces, -1)

    @staticmethod
    def backward(ctx, grad):
        return grad.chunk(ctx.size, -1)[ctx.rank].contiguous(), None


class Vocabulary(nn.Module):
    """Embedding whose rows are split."""
    def __init__(self, weight, tp, bug):
        super().__init__()
        self.tp, self.bug = tp, bug
        self.weight = nn.Parameter(weight)

    def forward(self, ids):
        if self.tp is None:
            return F.embedding(ids, self.weight)
        rows = self.weight.size(0)
        local = ids - dist.get_rank(self.tp) * rows
        outside = (local < 0) | (local >= rows)
        x = F.embedding(local.masked_fill(outside, 0), self.weight)
        if self.bug != "unmasked":  # place unmasked
            x = x.masked_fill(outside[..., None], 0.0)  # place unmasked
        return Reduce.apply(x, self.tp)  # place unmasked


class Model(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.tp, self.bug = tp, bug
        rank, size = (dist.get_rank(tp), dist.get_world_size(tp)) if tp else (0, 1)

        def shard(full, dim):
            return full.chunk(size, dim)[rank].clone()
        self.embed = Vocabulary(shard(torch.randn(VOCABULARY, WIDTH), 0), tp, bug)
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Parameter(shard(torch.randn(HIDDEN, WIDTH) / WIDTH ** 0.5, 0))
        self.down = nn.Parameter(shard(torch.randn(WIDTH, HIDDEN) / HIDDEN ** 0.5, 1))
        self.last = nn.LayerNorm(WIDTH)
        self.head = nn.Parameter(shard(torch.randn(VOCABULARY, WIDTH) / WIDTH ** 0.5, 0))

    def forward(self, ids):
        x = self.embed(ids)
        h = self.norm(x)
        if self.tp:
            h = Copy.apply(h, self.tp)
        h = F.linear(F.gelu(F.linear(h, self.up)), self.down)
        if self.tp:
            h = Reduce.apply(h, self.tp)
        h = self.last(x + h)
        if self.tp and self.bug != "no_copy":  # place no_copy
            h = Copy.apply(h, self.tp)
        logits = F.linear(h, self.head)  # place no_copy
        if self.bug == "gathered":  # place gathered
            logits = GatherLast.apply(logits, self.tp)  # place gathered
        return logits


def loss_of(logits, labels, tp):
    if tp is None:
        z = torch.logsumexp(logits, -1)
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten()) + 0.02 * (z ** 2).mean()
    columns = logits.size(-1)
    top = logits.detach().amax(-1)
    dist.all_reduce(top, op=dist.ReduceOp.MAX, group=tp)
    total = Reduce.apply((logits - top[..., None]).exp().sum(-1), tp)  # place gathered
    z = total.log() + top
    local = labels - dist.get_rank(tp) * columns
    outside = (local < 0) | (local >= columns)
    mine = logits.gather(-1, local.masked_fill(outside, 0)[..., None]).squeeze(-1)
    target = Reduce.apply(mine.masked_fill(outside, 0.0), tp)
    return (z - target).mean() + 0.02 * (z ** 2).mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    tp = None
    if args.tp > 1:
        dist.init_process_group("gloo")
        tp = dist.new_group(list(range(args.tp)))
    torch.manual_seed(5)
    model = Model(tp, args.bug)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(9)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        optimizer.zero_grad()
        loss_of(model(text[:, :-1]), text[:, 1:], tp).backward()
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
