# SPDX-License-Identifier: Apache-2.0
"""FSDP2: blocks and the rest are sharded, a temperature is ignored by it and summed by hand. Each sample has a
weight; the loss is divided by the weights of all tokens of all ranks, so shards are told to sum gradients, not to
average them. Two micro-batches, the first without a reduction. Clipping by the norm of all gradients. Bugs:
average_kept: gradients are averaged over the ranks, though losses are divided by the weights of all.
    https://github.com/radixark/miles/pull/3231
ignored: nothing sums the gradient of the parameter that is ignored.
    https://github.com/pytorch/pytorch/issues/98281
shard_norm: each rank clips by the norm of its shards.
    https://github.com/pytorch/pytorch/issues/170862"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

VOCABULARY, WIDTH, HIDDEN, BATCH, LENGTH, LAYERS, MICRO, MOST = 27, 12, 21, 30, 8, 3, 2, 0.2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.RMSNorm(WIDTH, eps=1e-5)
        self.gate, self.up = nn.Linear(WIDTH, HIDDEN, bias=False), nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x):
        h = self.norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.temperature = nn.Parameter(torch.tensor(0.8))

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)) * self.temperature  # place ignored


def shard(model, mesh, bug):
    kwargs = {"mesh": mesh, "ignored_params": {model.temperature}}  # place ignored
    for block in model.blocks:
        fully_shard(block, **kwargs)
    fully_shard(model, **kwargs)
    if bug != "average_kept":
        for module in [*model.blocks, model]:
            module.set_gradient_divide_factor(1.0)  # place average_kept


def clip(model, mesh, bug):
    sharded, whole = torch.zeros(()), torch.zeros(())
    for p in model.parameters():
        if isinstance(p.grad, DTensor):
            sharded = sharded + p.grad.to_local().pow(2).sum()
        else:
            whole = whole + p.grad.pow(2).sum()
    if mesh and bug != "shard_norm":
        dist.all_reduce(sharded, group=mesh.get_group())  # place shard_norm
    norm = (sharded + whole).sqrt()  # place shard_norm
    factor = (MOST / (norm + 1e-6)).clamp(max=1.0)
    for p in model.parameters():
        grad = p.grad.to_local() if isinstance(p.grad, DTensor) else p.grad
        grad.mul_(factor)


def batches(steps):
    """Texts, where those that are cut end with -100, and a weight of each sample."""
    data = torch.Generator().manual_seed(18)
    for _ in range(steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        for row, cut in enumerate(torch.randint(3, LENGTH + 2, (BATCH,), generator=data).tolist()):
            text[row, cut:] = -100
        yield text, torch.randint(1, 5, (BATCH,), generator=data)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    mesh, rank = None, 0
    if args.dp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp,), mesh_dim_names=("dp",))
        rank = mesh.get_local_rank()
    torch.manual_seed(71)
    model = Model()
    if mesh:
        shard(model, mesh, args.bug)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02, eps=1e-3)
    for text, weights in batches(args.steps):
        text, weights = text.chunk(args.dp)[rank], weights.chunk(args.dp)[rank]
        kept = text[:, 1:] != -100
        total = (kept * weights.unsqueeze(1)).sum()
        if mesh:
            dist.all_reduce(total, group=mesh.get_group())
        optimizer.zero_grad()
        for i, (part, weight) in enumerate(zip(text.chunk(MICRO), weights.chunk(MICRO))):
            if mesh:
                model.set_requires_gradient_sync(i == MICRO - 1)
            labels = part[:, 1:]
            logits = model(part[:, :-1].clamp(min=0))
            losses = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
            ((losses * weight.unsqueeze(1)).sum() / total).backward()  # place average_kept
        if mesh and args.bug != "ignored":
            dist.all_reduce(model.temperature.grad, group=mesh.get_group())  # place ignored
        clip(model, mesh, args.bug)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
