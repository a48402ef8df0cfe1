# SPDX-License-Identifier: Apache-2.0
"""A vocabulary split over tensor parallelism, tied: embedding with a padding id, MLPs whose second bias is added in
parts before the sum, output layer and cross entropy over the split vocabulary. Bugs:
padding_local: each rank takes the padding id for one of its own rows: another token gets no gradient.
    https://github.com/pytorch/torchtitan/pull/4637
bias_divided: each rank adds bias / tp, and autograd divides its gradient, too, which nothing sums.
    https://github.com/pytorch/torchtitan/pull/4332
logits_gathered: logits are gathered, and given to the loss of a split vocabulary: it sums their exponentials tp times.
    https://github.com/NVIDIA/Megatron-LM/issues/7452 (finding 2)"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, WIDTH, HIDDEN, BATCH, LENGTH, LAYERS, PAD = 22, 10, 24, 5, 8, 2, 3


class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.all_reduce(grad, group=ctx.group)
        return grad, None


class Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        x = x.contiguous().clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class Gather(torch.autograd.Function):
    """The last dimension of all ranks; each gets back its slice."""
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        pieces = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]
        dist.all_gather(pieces, x.contiguous(), group=group)
        return torch.cat(pieces, -1)

    @staticmethod
    def backward(ctx, grad):
        return grad.chunk(dist.get_world_size(ctx.group), -1)[dist.get_rank(ctx.group)].contiguous(), None


class Block(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.tp, self.bug = tp, bug
        rank, size = (dist.get_rank(tp), dist.get_world_size(tp)) if tp else (0, 1)
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Parameter((torch.randn(HIDDEN, WIDTH) / 3).chunk(size)[rank].clone())
        self.up_bias = nn.Parameter((torch.randn(HIDDEN) / 3).chunk(size)[rank].clone())
        self.down = nn.Parameter((torch.randn(WIDTH, HIDDEN) / 4).chunk(size, 1)[rank].clone())
        self.down_bias = nn.Parameter(torch.randn(WIDTH) / 3)

    def forward(self, x):
        h = self.norm(x)
        if not self.tp:
            return x + F.linear(torch.tanh(F.linear(h, self.up, self.up_bias)), self.down, self.down_bias)
        h = torch.tanh(F.linear(Copy.apply(h, self.tp), self.up, self.up_bias))
        size = dist.get_world_size(self.tp)
        if self.bug == "bias_divided":
            bias = self.down_bias / size  # place bias_divided
        else:  # the value of bias / size, the gradient of bias
            bias = self.down_bias + (self.down_bias / size - self.down_bias).detach()
        return x + Reduce.apply(F.linear(h, self.down, bias), self.tp)


class Model(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.tp, self.bug = tp, bug
        rank, size = (dist.get_rank(tp), dist.get_world_size(tp)) if tp else (0, 1)
        self.words = nn.Parameter((torch.randn(VOCABULARY, WIDTH) / 2).chunk(size)[rank].clone())
        self.places = nn.Parameter(torch.randn(LENGTH, WIDTH) / 2)
        self.blocks = nn.ModuleList(Block(tp, bug) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.first = rank * (VOCABULARY // size)

    def lookup(self, ids):
        if not self.tp:
            return F.embedding(ids, self.words, padding_idx=PAD)
        rows = self.words.size(0)
        own = (ids >= self.first) & (ids < self.first + rows)
        padding = PAD - self.first if self.first <= PAD < self.first + rows else None
        if self.bug == "padding_local":
            padding = PAD  # place padding_local
        x = F.embedding((ids - self.first).masked_fill(~own, 0), self.words, padding_idx=padding)  # place padding_local
        return Reduce.apply(x.masked_fill(~own.unsqueeze(-1), 0), self.tp)

    def forward(self, ids):
        x = self.lookup(ids) + self.places
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        logits = F.linear(Copy.apply(x, self.tp) if self.tp else x, self.words)
        if self.tp and self.bug == "logits_gathered":
            logits = Gather.apply(logits, self.tp)  # place logits_gathered
        return logits


def split_cross_entropy(logits, labels, tp):
    """Of each token, logits are the part of the vocabulary of this rank."""
    first = dist.get_rank(tp) * logits.size(-1)
    highest = logits.detach().max(-1).values
    dist.all_reduce(highest, op=dist.ReduceOp.MAX, group=tp)
    logits = logits - highest.unsqueeze(-1)
    total = Reduce.apply(logits.exp().sum(-1), tp)
    own = (labels >= first) & (labels < first + logits.size(-1))
    picked = logits.gather(-1, (labels - first).masked_fill(~own, 0).unsqueeze(-1)).squeeze(-1)
    return total.log() - Reduce.apply(picked.masked_fill(~own, 0), tp)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    tp = None
    if args.tp > 1:
        dist.init_process_group("gloo")
        tp = dist.group.WORLD
    torch.manual_seed(44)
    model = Model(tp, args.bug)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(16)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        text[1, 3:], text[4, 6:], text[0, 1] = PAD, PAD, 14
        ids, labels = text[:, :-1], text[:, 1:]
        optimizer.zero_grad()
        logits = model(ids)
        if tp:
            losses = split_cross_entropy(logits, labels, tp)
        else:
            losses = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none").view_as(labels)
        kept = labels != PAD
        ((losses * kept).sum() / kept.sum()).backward()
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
