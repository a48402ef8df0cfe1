# SPDX-License-Identifier: Apache-2.0
"""Tokens are split over sequence parallelism, and exchanged for heads before attention; fewer heads of keys than of
queries. Data parallelism beside it: gradients are averaged over both axes, the loss is the mean over all tokens. Bugs:
narrow_group: gradients are averaged over data parallelism only, and each rank keeps those of its tokens.
    https://github.com/ByteDance-Seed/VeOmni/pull/1115
scaled_by_dp: the loss is multiplied by the ranks of data parallelism, the average is over those of both axes.
    https://github.com/ByteDance-Seed/VeOmni/pull/338 and https://github.com/deepspeedai/DeepSpeed/issues/5248
tiled: heads of keys are repeated one set after the other, queries meet the keys of other groups.
    https://github.com/ekzhang/jax-js/pull/180"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

VOCABULARY, WIDTH, HEADS, PAIRS, SIZE, HIDDEN, BATCH, LENGTH, LAYERS = 25, 11, 8, 4, 3, 21, 6, 10, 2


def exchange(x, group):
    """Piece i of dimension 0 to rank i."""
    out = torch.empty_like(x)
    dist.all_to_all_single(out, x.contiguous(), group=group)
    return out


def to_heads(x, group):
    """batch, tokens of the rank, all heads, SIZE -> batch, all tokens, heads of the rank, SIZE"""
    size = dist.get_world_size(group)
    x = exchange(torch.stack(x.chunk(size, 2)), group)
    return torch.cat(list(x), 1)


def to_tokens(x, group):
    size = dist.get_world_size(group)
    x = exchange(torch.stack(x.chunk(size, 1)), group)
    return torch.cat(list(x), 2)


class ToHeads(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return to_heads(x, group)

    @staticmethod
    def backward(ctx, grad):
        return to_tokens(grad, ctx.group), None


class ToTokens(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return to_tokens(x, group)

    @staticmethod
    def backward(ctx, grad):
        return to_heads(grad, ctx.group), None


class Block(nn.Module):
    def __init__(self, sp, bug):
        super().__init__()
        self.sp, self.bug = sp, bug
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q, self.k, self.v = (nn.Linear(WIDTH, n * SIZE) for n in (HEADS, PAIRS, PAIRS))
        self.out = nn.Linear(HEADS * SIZE, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def attention(self, x):
        q, k, v = (f(x).unflatten(-1, (-1, SIZE)) for f in (self.q, self.k, self.v))
        if self.sp:
            q, k, v = (ToHeads.apply(t, self.sp) for t in (q, k, v))
        times = HEADS // PAIRS
        if self.sp and self.bug == "tiled":
            k, v = k.repeat(1, 1, times, 1), v.repeat(1, 1, times, 1)  # place tiled
        else:
            k, v = k.repeat_interleave(times, 2), v.repeat_interleave(times, 2)  # place tiled
        y = F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v)), is_causal=True).transpose(1, 2)
        if self.sp:
            y = ToTokens.apply(y, self.sp)
        return self.out(y.flatten(2))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, sp, bug):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block(sp, bug) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--sp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    sp = dp = None
    row, column, world = 0, 0, args.dp * args.sp
    if world > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp, args.sp), mesh_dim_names=("dp", "sp"))
        dp, sp = mesh.get_group("dp"), mesh.get_group("sp")
        row, column = mesh.get_local_rank("dp"), mesh.get_local_rank("sp")
    torch.manual_seed(92)
    model = Model(sp, args.bug)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(57)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data).chunk(args.dp)[row]
        ids, labels = (t.chunk(args.sp, 1)[column] for t in (text[:, :-1], text[:, 1:]))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(ids).flatten(0, 1), labels.flatten(), reduction="sum") / (BATCH * LENGTH)
        scale = args.dp if args.bug == "scaled_by_dp" else world  # place scaled_by_dp
        (loss * scale).backward()  # place scaled_by_dp
        if world > 1:
            group = dp if args.bug == "narrow_group" else dist.group.WORLD  # place narrow_group
            for p in model.parameters():
                dist.all_reduce(p.grad, group=group)  # place narrow_group
                p.grad /= dist.get_world_size(group)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
