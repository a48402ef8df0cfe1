# SPDX-License-Identifier: Apache-2.0
"""FSDP2 on a mesh of replicas and shards, with micro-batches. Norms and their biases are ignored by FSDP: each rank has
them whole, and reduces their gradients itself after the last micro-batch. Replicas are reduced with the last
micro-batch only. Gradients are clipped by the norm of all of them; norms and biases do not decay. Bugs:
late_flag: whether replicas are reduced is set after the backward: each micro-batch goes by the flag of the one before.
    https://github.com/pytorch/torchtitan/pull/4505 (there: a graph that replays the flag of its first micro-batch)
ignored_twice: squares of the ignored gradients, which are whole on each rank, are summed over the shards.
    https://github.com/mindspore-ai/hyper-parallel/issues/526
norms_decay: the weights of norms are put to the parameters that decay.
    https://github.com/ServiceNow/Fast-LLM/pull/545"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

VOCABULARY, WIDTH, HEADS, SIZE, HIDDEN, BATCH, LENGTH, LAYERS, MICRO, LONGEST = 34, 14, 3, 4, 22, 16, 9, 2, 2, 0.25


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * HEADS * SIZE), nn.Linear(HEADS * SIZE, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x, mask):
        q, k, v = (t.unflatten(-1, (HEADS, SIZE)) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * SIZE ** -0.5
        weights = scores.masked_fill(mask, float("-inf")).softmax(-1)
        x = x + self.out(torch.einsum("bhqk,bkhd->bqhd", weights, v).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH + 1, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        places = torch.arange(ids.size(1))
        x = self.embed(ids) + self.places(places)
        mask = places.unsqueeze(-1) < places
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x))


def norms_of(model):
    return {p for module in model.modules() if isinstance(module, nn.LayerNorm) for p in module.parameters()}


def groups_of(model, norms, bug):
    """What decays, and what does not."""
    decayed, rest = [], []
    for name, p in model.named_parameters():
        still = name.endswith("bias") or (p in norms and bug != "norms_decay")  # place norms_decay
        (rest if still else decayed).append(p)
    return [{"params": decayed, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]


def clip(model, mesh, bug):
    """Divides all gradients by what their norm has too much."""
    shards, whole = torch.zeros(()), torch.zeros(())
    for p in model.parameters():
        if isinstance(p.grad, DTensor) or (mesh and bug == "ignored_twice"):  # place ignored_twice
            grad = p.grad.to_local() if isinstance(p.grad, DTensor) else p.grad
            shards = shards + grad.square().sum()
        else:
            whole = whole + p.grad.square().sum()
    if mesh:
        dist.all_reduce(shards, group=mesh.get_group("shard"))  # place ignored_twice
    factor = (LONGEST / (shards + whole + 1e-12).sqrt()).clamp(max=1)
    for p in model.parameters():
        grad = p.grad.to_local() if isinstance(p.grad, DTensor) else p.grad
        grad.mul_(factor)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicate", type=int, default=1)
    parser.add_argument("--shard", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    mesh, rank, ranks, micro = None, 0, args.replicate * args.shard, 1
    torch.manual_seed(53)
    model = Model()
    norms = norms_of(model)
    if ranks > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.replicate, args.shard), mesh_dim_names=("replicate", "shard"))
        rank, micro = dist.get_rank(), MICRO
        for block in model.blocks:
            fully_shard(block, mesh=mesh, ignored_params=norms)
        fully_shard(model, mesh=mesh, ignored_params=norms)
    optimizer = torch.optim.AdamW(groups_of(model, norms, args.bug), lr=0.02, eps=1e-3)
    data = torch.Generator().manual_seed(90)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        kept = torch.rand(BATCH, LENGTH, generator=data) < 0.7
        text, kept = text.chunk(ranks)[rank], kept.chunk(ranks)[rank]
        total = kept.sum()
        if mesh:
            dist.all_reduce(total)
        optimizer.zero_grad()
        for i, (rows, mask) in enumerate(zip(text.chunk(micro), kept.chunk(micro))):
            if mesh and args.bug != "late_flag":  # place late_flag
                model.set_requires_all_reduce(i == micro - 1)
            losses = F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten(), reduction="none")
            ((losses * mask.flatten()).sum() * ranks / total).backward()
            if args.bug == "late_flag":
                model.set_requires_all_reduce(i == micro - 1)  # place late_flag
        if mesh:
            for p in model.parameters():
                if p in norms:
                    dist.all_reduce(p.grad)
                    p.grad /= ranks
        clip(model, mesh, args.bug)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
