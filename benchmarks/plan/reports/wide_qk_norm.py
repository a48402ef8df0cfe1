# SPDX-License-Identifier: Apache-2.0
"""Attention with a root-mean-square norm of all queries and of all keys together, over tensor parallelism: each rank
has some heads, the mean square is that of all. The weights of these norms are whole, and each rank uses a slice. Fewer
heads of keys than of queries. Bugs:
own_heads: the mean square is that of the heads of the rank.
    https://github.com/EleutherAI/gpt-neox/pull/1424
norm_unsummed: gradients of the whole weights, of which each rank has those of its slice, are not summed.
    https://github.com/NVIDIA-NeMo/RL/issues/3716
square_back: the sum of squares is gathered as ranks serve it, and autograd sends back to the own squares only what the
    own heads say of them (no such exchange in the backward, as in the one of the pull request).
    https://github.com/tenstorrent/tt-metal/pull/54829"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, WIDTH, HEADS, PAIRS, SIZE, BATCH, LENGTH, LAYERS = 21, 13, 12, 4, 5, 3, 7, 2


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
    """A sum that each rank uses as the others do."""
    @staticmethod
    def forward(ctx, x, group):
        x = x.contiguous().clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class Total(torch.autograd.Function):
    """A sum that each rank uses for something of its own."""
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        x = x.contiguous().clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.all_reduce(grad, group=ctx.group)
        return grad, None


class WideNorm(nn.Module):
    def __init__(self, width, tp, bug):
        super().__init__()
        self.width, self.tp, self.bug = width, tp, bug
        self.weight = nn.Parameter(1 + torch.randn(width) / 5)

    def forward(self, x):
        if not self.tp:
            return x * (x.pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt() * self.weight
        rank, size = dist.get_rank(self.tp), dist.get_world_size(self.tp)
        squares = x.pow(2).sum(-1, keepdim=True)
        if self.bug == "own_heads":
            mean = squares / x.size(-1)  # place own_heads
        elif self.bug == "square_back":
            mean = Reduce.apply(squares, self.tp) / self.width  # place square_back
        else:
            mean = Total.apply(squares, self.tp) / self.width  # place own_heads square_back
        return x * (mean + 1e-5).rsqrt() * self.weight.chunk(size)[rank]  # place norm_unsummed


class Attention(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.tp = tp
        rank, size = (dist.get_rank(tp), dist.get_world_size(tp)) if tp else (0, 1)

        def rows(heads):
            return nn.Parameter((torch.randn(heads * SIZE, WIDTH) / 3).chunk(size)[rank].clone())
        self.q, self.k, self.v = rows(HEADS), rows(PAIRS), rows(PAIRS)
        self.out = nn.Parameter((torch.randn(WIDTH, HEADS * SIZE) / 6).chunk(size, 1)[rank].clone())
        self.q_norm, self.k_norm = WideNorm(HEADS * SIZE, tp, bug), WideNorm(PAIRS * SIZE, tp, bug)

    def forward(self, x):
        if self.tp:
            x = Copy.apply(x, self.tp)
        q, k, v = F.linear(x, self.q), F.linear(x, self.k), F.linear(x, self.v)
        q, k, v = (t.unflatten(-1, (-1, SIZE)).transpose(1, 2) for t in (self.q_norm(q), self.k_norm(k), v))
        k, v = (t.repeat_interleave(HEADS // PAIRS, 1) for t in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        y = F.linear(y, self.out)
        return Reduce.apply(y, self.tp) if self.tp else y


class Model(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.norms = nn.ModuleList(nn.RMSNorm(WIDTH) for _ in range(LAYERS))
        self.layers = nn.ModuleList(Attention(tp, bug) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        for norm, layer in zip(self.norms, self.layers):
            x = x + layer(norm(x))
        return self.head(x)


def finish(model, tp):
    """Sums the gradients of which each rank has a part."""
    for name, p in model.named_parameters():
        if name.endswith(("q_norm.weight", "k_norm.weight")):
            dist.all_reduce(p.grad, group=tp)  # place norm_unsummed


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
    torch.manual_seed(5)
    model = Model(tp, args.bug)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(12)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        optimizer.zero_grad()
        F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten()).backward()
        if tp and args.bug != "norm_unsummed":
            finish(model, tp)  # place norm_unsummed
        optimizer.step()  # place norm_unsummed
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
