# SPDX-License-Identifier: Apache-2.0
"""Grouped-query attention with more ranks than heads of keys: the projection of keys and values is split as ever, its
output is gathered, and each rank takes the head that its queries belong to. Norms of queries and keys are shared by all
heads. Bugs: slice_back (Megatron's way for few query groups, ported in ISEEKYAN/Megatron-LM #91: the backward of the
gather has to sum what copies of a head send back; here each rank keeps its own), head_map (transformers #47811,
replicas of key heads: neighbours share a head; here ranks take them in turn), norm_mean (Megatron-LM #816, norms of
queries and keys with tensor parallelism: their gradients are averaged over tp as if ranks had equal ones)."""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, WIDTH, HEADS, KV_HEADS, SIZE, HIDDEN, BATCH, LENGTH = 27, 14, 8, 2, 6, 20, 4, 5


class Copy(torch.autograd.Function):
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
    def forward(ctx, x, group, summed):
        ctx.group, ctx.summed = group, summed
        pieces = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]
        dist.all_gather(pieces, x.contiguous(), group=group)
        return torch.cat(pieces, -1)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous()
        if ctx.summed:  # place slice_back
            dist.all_reduce(grad, group=ctx.group)  # place slice_back
        size, rank = dist.get_world_size(ctx.group), dist.get_rank(ctx.group)
        return grad.chunk(size, -1)[rank].contiguous(), None, None  # place slice_back


class Attention(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.tp, self.bug = tp, bug
        self.rank, self.size = (dist.get_rank(tp), dist.get_world_size(tp)) if tp else (0, 1)

        def rows(*shape):
            return nn.Parameter((torch.randn(shape) / shape[1] ** 0.5).chunk(self.size)[self.rank].clone())
        self.q = rows(HEADS * SIZE, WIDTH)
        self.k = rows(KV_HEADS * SIZE, WIDTH)
        self.v = rows(KV_HEADS * SIZE, WIDTH)
        self.o = nn.Parameter((torch.randn(WIDTH, HEADS * SIZE) / 7).chunk(self.size, 1)[self.rank].clone())
        self.q_norm, self.k_norm = nn.RMSNorm(SIZE), nn.RMSNorm(SIZE)

    def heads(self, x, weight):
        """Heads of keys or values that this rank's queries need."""
        y = F.linear(x, weight)
        if self.tp is None:
            return y.unflatten(-1, (KV_HEADS, SIZE))
        y = GatherLast.apply(y, self.tp, self.bug != "slice_back")  # place slice_back
        copies = self.size // KV_HEADS
        head = self.rank % KV_HEADS if self.bug == "head_map" else self.rank // copies  # place head_map
        return y.unflatten(-1, (KV_HEADS, SIZE))[:, :, head:head + 1]  # place head_map

    def forward(self, x):
        if self.tp:
            x = Copy.apply(x, self.tp)
        q = F.linear(x, self.q).unflatten(-1, (-1, SIZE))
        k, v = self.heads(x, self.k), self.heads(x, self.v)
        q, k = self.q_norm(q), self.k_norm(k)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        k, v = (t.repeat_interleave(q.size(1) // t.size(1), 1) for t in (k, v))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = F.linear(a.transpose(1, 2).flatten(2), self.o)
        return Reduce.apply(y, self.tp) if self.tp else y


class Model(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.embed, self.place = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.norm, self.attention = nn.RMSNorm(WIDTH), Attention(tp, bug)
        self.mlp = nn.Sequential(nn.RMSNorm(WIDTH), nn.Linear(WIDTH, HIDDEN), nn.SiLU(), nn.Linear(HIDDEN, WIDTH))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids):
        x = self.embed(ids) + self.place.weight
        x = x + self.attention(self.norm(x))
        return self.head(x + self.mlp(x))


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
    torch.manual_seed(21)
    model = Model(tp, args.bug)
    shared = [*model.attention.q_norm.parameters(), *model.attention.k_norm.parameters()]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    data = torch.Generator().manual_seed(17)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        optimizer.zero_grad()
        F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten()).backward()
        if tp:
            for p in shared:
                dist.all_reduce(p.grad, group=tp)
                if args.bug == "norm_mean":
                    p.grad /= args.tp  # place norm_mean
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
