# SPDX-License-Identifier: Apache-2.0
"""Gradients sharded over one axis and replicated over another, by hand: with each micro-batch gradients are scattered
as sums over the shards, with the last one what was accumulated is summed over the replicas. Clipping by the norm of
all shards; each rank updates its shard of each parameter, and they are gathered. Bugs:
replica_lost: with the last micro-batch only its own gradients are summed over the replicas, then accumulated.
    https://github.com/pytorch/pytorch/pull/125484
own_norm: each rank clips by the norm of its shard.
    https://github.com/pytorch/xla/pull/4796
replicas_counted: squares are summed over all ranks, those of each replica again.
    https://github.com/NVIDIA-NeMo/RL/pull/3788"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

VOCABULARY, WIDTH, HIDDEN, BATCH, LENGTH, LAYERS, MICRO, RATE, DECAY = 17, 7, 18, 16, 5, 2, 2, 0.3, 0.02


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        return x + self.down(F.silu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Shards:
    def __init__(self, model, replicate, shard, bug):
        self.parameters, self.replicate, self.shard, self.bug = list(model.parameters()), replicate, shard, bug
        self.rank, self.size = dist.get_rank(shard), dist.get_world_size(shard)

    def pieces(self, x):
        """Equal pieces of a flat tensor, the last one with zeros behind."""
        x = x.flatten()
        return list(F.pad(x, (0, -x.numel() % self.size)).chunk(self.size))

    def start(self):
        self.sums = [torch.zeros_like(self.pieces(p.data)[0]) for p in self.parameters]

    def accumulate(self, last):
        for p, total in zip(self.parameters, self.sums):
            mine = torch.empty_like(total)
            dist.reduce_scatter(mine, self.pieces(p.grad), group=self.shard)
            p.grad = None
            if last and self.bug == "replica_lost":
                dist.all_reduce(mine, group=self.replicate)  # place replica_lost
                total += mine  # place replica_lost
                continue
            total += mine
            if last:
                dist.all_reduce(total, group=self.replicate)  # place replica_lost

    def clip(self, most):
        squares = torch.zeros(())
        for total in self.sums:
            total /= dist.get_world_size()
            squares = squares + total.pow(2).sum()
        if self.bug == "replicas_counted":
            dist.all_reduce(squares)  # place replicas_counted
        elif self.bug != "own_norm":
            dist.all_reduce(squares, group=self.shard)  # place own_norm replicas_counted
        factor = (most / (squares.sqrt() + 1e-6)).clamp(max=1.0)  # place own_norm
        for total in self.sums:
            total *= factor

    def step(self):
        for p, total in zip(self.parameters, self.sums):
            mine = self.pieces(p.data)[self.rank]
            mine = mine - RATE * (total + DECAY * mine)
            pieces = [torch.empty_like(mine) for _ in range(self.size)]
            dist.all_gather(pieces, mine, group=self.shard)
            p.data.copy_(torch.cat(pieces)[:p.numel()].view_as(p))


def update(model, most):
    """What one device does."""
    squares = torch.zeros(())
    for p in model.parameters():
        squares = squares + p.grad.pow(2).sum()
    factor = (most / (squares.sqrt() + 1e-6)).clamp(max=1.0)
    for p in model.parameters():
        p.grad.mul_(factor)
        p.data.sub_(RATE * (p.grad + DECAY * p.data))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicate", type=int, default=1)
    parser.add_argument("--shard", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    world, rank = args.replicate * args.shard, 0
    if world > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.replicate, args.shard), mesh_dim_names=("replicate", "shard"))
        rank = dist.get_rank()
    torch.manual_seed(61)
    model = Model()
    shards = Shards(model, mesh.get_group("replicate"), mesh.get_group("shard"), args.bug) if world > 1 else None
    data = torch.Generator().manual_seed(13)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data).chunk(world)[rank]
        model.zero_grad()
        if shards:
            shards.start()
        for i, part in enumerate(text.chunk(MICRO)):
            loss = F.cross_entropy(model(part[:, :-1]).flatten(0, 1), part[:, 1:].flatten()) / MICRO
            loss.backward()
            if shards:
                shards.accumulate(i == MICRO - 1)
        if shards:
            shards.clip(0.15)
            shards.step()
        else:
            update(model, 0.15)
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
