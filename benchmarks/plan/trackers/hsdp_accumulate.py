# SPDX-License-Identifier: Apache-2.0
"""FSDP2 on a mesh with two axes (HSDP), several micro-batches in a step, a loss per token of the whole step, clipping.
The all_reduce between the replicas waits for the last micro-batch. Bugs: shard_factor (miles #3231: the mean that FSDP2
takes is over both axes; the loss is multiplied by the size of one), first_only (Megatron-LM #7186, gradients of all
micro-batches but one are dropped with hybrid sharding; torchtitan #4505: the replicas are summed after the first
micro-batch, not after the last), local_clip (DeepSpeed #8475 in another coat: the norm to clip by is that of the rank's
shards)."""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

VOCABULARY, WIDTH, HIDDEN, BATCH, LENGTH, LAYERS, MICRO = 18, 8, 14, 12, 6, 2, 3


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.gate, self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        h = self.norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


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


def clip(model, most, bug):
    if bug == "local_clip":
        grads = [p.grad.to_local() for p in model.parameters()]  # place local_clip
        norm = torch.nn.utils.get_total_norm(grads)  # place local_clip
    else:
        norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
    if isinstance(norm, DTensor):
        norm = norm.full_tensor()
    torch.nn.utils.clip_grads_with_norm_(model.parameters(), most, norm)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicate", type=int, default=1)
    parser.add_argument("--shard", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    world, rank = args.replicate * args.shard, 0
    torch.manual_seed(4)
    model = Model()
    if world > 1:
        dist.init_process_group("gloo")
        rank = dist.get_rank()
        mesh = init_device_mesh("cpu", (args.replicate, args.shard), mesh_dim_names=("replicate", "shard"))
        for block in model.blocks:
            fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4, weight_decay=0.1, foreach=False)
    data = torch.Generator().manual_seed(12)
    lengths = torch.tensor([6, 2, 5, 3, 6, 4, 1, 6, 2, 3, 5, 4])
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        labels = text[:, 1:].masked_fill(torch.arange(LENGTH) >= lengths[:, None], -100)
        ids, labels = (t.chunk(world)[rank] for t in (text[:, :-1], labels))
        tokens = (labels != -100).sum()
        if world > 1:
            dist.all_reduce(tokens)
        optimizer.zero_grad()
        when = 0 if args.bug == "first_only" else MICRO - 1  # place first_only
        for i, (x, y) in enumerate(zip(ids.chunk(MICRO), labels.chunk(MICRO))):
            if world > 1:
                model.set_requires_all_reduce(i == when)  # place first_only
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten(), ignore_index=-100, reduction="sum") / tokens
            factor = args.shard if args.bug == "shard_factor" else world  # place shard_factor
            (loss * factor).backward()  # place shard_factor
        clip(model, 0.45, args.bug)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
