# SPDX-License-Identifier: Apache-2.0
"""Tensor parallelism with parallelize_module: a row-split embedding, norms on parts of the sequence, a column-split
output under loss_parallel. The loss is taken in chunks of the sequence, each with its own backward; the gradients of
the chunks are collected in a buffer and sent through the trunk at once. Bugs: chunk_placement (torchtitan #3412: the
buffer holds partial gradients, and is labelled as the activations are), plain_norm (Megatron-LM #1446: the gradient of
the final norm differs between the ranks; here its entry in the plan is missing)."""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel,
                                               loss_parallel, parallelize_module)

VOCABULARY, WIDTH, HIDDEN, BATCH, LENGTH, LAYERS, CHUNKS = 28, 10, 18, 3, 8, 2, 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.w1, self.w2 = nn.RMSNorm(WIDTH), nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)
        self.mlp = nn.Identity()

    def forward(self, x):
        return x + self.w2(F.silu(self.w1(self.mlp(self.norm(x)))))


class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(WIDTH)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)  # place plain_norm


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk, self.output = Trunk(), nn.Linear(WIDTH, VOCABULARY, bias=False)


def parallelize(model, mesh, bug):
    plan = {"trunk.embed": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
            "output": ColwiseParallel(input_layouts=Replicate(), output_layouts=Shard(-1), use_local_output=False)}
    if bug != "plain_norm":  # place plain_norm
        plan["trunk.norm"] = SequenceParallel()  # place plain_norm
    parallelize_module(model, mesh, plan)
    for block in model.trunk.layers:
        parallelize_module(block, mesh, {
            "norm": SequenceParallel(),
            "mlp": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
            "w1": ColwiseParallel(),
            "w2": RowwiseParallel(output_layouts=Shard(1))})


def step(model, ids, labels, mesh, bug):
    hidden = model.trunk(ids)
    if mesh:
        if not isinstance(hidden, DTensor):
            hidden = DTensor.from_local(hidden, mesh, [Shard(1)])
        hidden = hidden.redistribute(placements=[Replicate()])
    count = (labels != -100).sum()
    leaf = hidden.detach()
    collected, placements = [], None
    for start in range(0, LENGTH, LENGTH // CHUNKS):
        part = leaf[:, start:start + LENGTH // CHUNKS].detach().requires_grad_()
        wanted = labels[:, start:start + LENGTH // CHUNKS]
        logits = model.output(part)
        loss = F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=-100, reduction="sum")
        (loss / count).backward()
        grad = part.grad
        if mesh:
            placements = hidden.placements if bug == "chunk_placement" else grad.placements  # place chunk_placement
            grad = grad.to_local()
        collected.append(grad)
    buffer = torch.cat(collected, 1)
    if mesh:
        buffer = DTensor.from_local(buffer, mesh, placements)  # place chunk_placement
        buffer = buffer.redistribute(placements=hidden.placements)
    hidden.backward(buffer)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    mesh = None
    torch.manual_seed(2)
    model = Model()
    if args.tp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.tp,), mesh_dim_names=("tp",))
        parallelize(model, mesh, args.bug)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4, foreach=False)
    data = torch.Generator().manual_seed(4)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        labels = text[:, 1:].masked_fill(torch.arange(LENGTH) >= torch.tensor([8, 3, 6])[:, None], -100)
        optimizer.zero_grad()
        if mesh:
            with loss_parallel():
                step(model, text[:, :-1], labels, mesh, args.bug)
        else:
            step(model, text[:, :-1], labels, mesh, args.bug)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
