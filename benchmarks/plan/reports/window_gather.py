# SPDX-License-Identifier: Apache-2.0
"""Attention within a window, with tokens split over context parallelism: keys and values of all tokens are gathered,
what comes back is summed and scattered. Data parallelism beside it; the loss is the mean over the tokens that count,
of all ranks, and gradients are averaged over both axes. Bugs:
gather_plain: keys and values are gathered where autograd does not see it, each rank puts back its own.
    https://github.com/NVIDIA-NeMo/Automodel/pull/2995 (there: the probabilities of the router)
divided_by_dp: gradients are summed over both axes and divided by one, the loss is multiplied by both.
    https://github.com/NVIDIA/Megatron-LM/issues/906
mask_counted: each rank counts the tokens of the whole text, not of its part, and all counts are summed.
    https://github.com/PrimeIntellect-ai/prime-rl/pull/2562"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

VOCABULARY, WIDTH, HEADS, SIZE, BATCH, LENGTH, LAYERS, WINDOW = 23, 14, 3, 5, 4, 12, 2, 5


class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        pieces = [torch.empty_like(x, memory_format=torch.contiguous_format) for _ in range(dist.get_world_size(group))]
        dist.all_gather(pieces, x.contiguous(), group=group)
        return torch.cat(pieces, 1)

    @staticmethod
    def backward(ctx, grad):
        pieces = [piece.contiguous() for piece in grad.chunk(dist.get_world_size(ctx.group), 1)]
        mine = torch.empty_like(pieces[0])
        dist.reduce_scatter(mine, pieces, group=ctx.group)
        return mine, None


def gather_plain(x, group):
    pieces = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]
    dist.all_gather(pieces, x.detach().contiguous(), group=group)  # place gather_plain
    pieces[dist.get_rank(group)] = x
    return torch.cat(pieces, 1)


class Attention(nn.Module):
    def __init__(self, cp, bug):
        super().__init__()
        self.cp, self.gather = cp, gather_plain if bug == "gather_plain" else Gather.apply
        self.q, self.k, self.v = (nn.Linear(WIDTH, HEADS * SIZE) for _ in range(3))
        self.out = nn.Linear(HEADS * SIZE, WIDTH)

    def forward(self, x, places):
        q, k, v = (f(x).unflatten(-1, (HEADS, SIZE)) for f in (self.q, self.k, self.v))
        if self.cp:
            k, v = self.gather(k, self.cp), self.gather(v, self.cp)  # place gather_plain
        back = places.unsqueeze(-1) - torch.arange(k.size(1))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / SIZE ** 0.5
        scores = scores.masked_fill((back < 0) | (back >= WINDOW), float("-inf"))
        return self.out(torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v).flatten(2))


class Model(nn.Module):
    def __init__(self, cp, bug):
        super().__init__()
        self.embed, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.norms = nn.ModuleList(nn.RMSNorm(WIDTH) for _ in range(LAYERS))
        self.layers = nn.ModuleList(Attention(cp, bug) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids, places):
        x = self.embed(ids) + self.places(places)
        for norm, layer in zip(self.norms, self.layers):
            x = x + layer(norm(x), places)
        return self.head(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--cp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    cp, row, column, world = None, 0, 0, args.dp * args.cp
    if world > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp, args.cp), mesh_dim_names=("dp", "cp"))
        cp, row, column = mesh.get_group("cp"), mesh.get_local_rank("dp"), mesh.get_local_rank("cp")
    torch.manual_seed(83)
    model = Model(cp, args.bug)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(45)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        counts = torch.rand(BATCH, LENGTH, generator=data) > 0.3
        text, counts = text.chunk(args.dp)[row], counts.chunk(args.dp)[row]
        total = counts.sum()  # place mask_counted
        ids, labels, places = text[:, :-1], text[:, 1:], torch.arange(LENGTH)
        ids, labels, counts = (t.chunk(args.cp, 1)[column] for t in (ids, labels, counts))
        places = places.chunk(args.cp)[column]
        if world > 1:
            if args.bug != "mask_counted":
                total = counts.sum()  # place mask_counted
            dist.all_reduce(total)  # place mask_counted
        optimizer.zero_grad()
        losses = F.cross_entropy(model(ids, places).flatten(0, 1), labels.flatten(), reduction="none").view_as(labels)
        ((losses * counts).sum() / total * world).backward()  # place divided_by_dp
        if world > 1:
            for p in model.parameters():
                dist.all_reduce(p.grad)
                p.grad /= args.dp if args.bug == "divided_by_dp" else world  # place divided_by_dp
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
