"""A GPT by PyTorch's own parallel APIs: DDP, DTensor tensor and sequence parallelism, FSDP2, HSDP and two of them at once.

--mode single (or --tp 1 --dp 1 without a job) is the single-device program."""
import argparse
import contextlib
import math

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, width, heads, head_size):
        super().__init__()
        self.head_size = head_size
        self.q, self.k, self.v = (nn.Linear(width, heads * head_size) for _ in range(3))
        self.out = nn.Linear(heads * head_size, width)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        batch, length, _ = q.shape
        q, k, v = (t.view(batch, length, -1, self.head_size).transpose(1, 2) for t in (q, k, v))
        scores = q @ k.transpose(-1, -2) / math.sqrt(self.head_size)
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(later, float("-inf")).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, -1))


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self, width, heads, head_size):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.mlp = Attention(width, heads, head_size), Mlp(width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.embed = nn.Embedding(args.vocabulary, args.width)
        self.layers = nn.ModuleList(Block(args.width, args.heads, args.head_size) for _ in range(args.layers))
        self.norm = nn.LayerNorm(args.width)
        self.head = nn.Linear(args.width, args.vocabulary, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def tensor_parallel(model, mesh, sequence):
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel,
                                                   SequenceParallel, parallelize_module)
    out = {"output_layouts": Shard(1)} if sequence else {}
    plan = {"attention.q": ColwiseParallel(), "attention.k": ColwiseParallel(), "attention.v": ColwiseParallel(),
            "attention.out": RowwiseParallel(**out), "mlp.up": ColwiseParallel(), "mlp.down": RowwiseParallel(**out)}
    top = {"embed": RowwiseParallel(input_layouts=Replicate(), **out), "head": ColwiseParallel(output_layouts=Replicate())}
    if sequence:
        gather = PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),))
        plan.update(norm1=SequenceParallel(), norm2=SequenceParallel(), attention=gather, mlp=gather)
        top.update(norm=SequenceParallel(), head=ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()))
    parallelize_module(model, mesh, top)
    for layer in model.layers:
        parallelize_module(layer, mesh, plan)


def parallelize(model, args):
    """The model as the loop calls it."""
    if args.mode == "single":
        return model
    from torch.distributed.device_mesh import init_device_mesh
    mesh = init_device_mesh("cpu", (args.dp, args.tp), mesh_dim_names=("dp", "tp"))
    if args.tp > 1:
        tensor_parallel(model, mesh["tp"], args.sequence)
    if args.mode == "ddp":
        return nn.parallel.DistributedDataParallel(model, process_group=mesh.get_group("dp"), bucket_cap_mb=0.002)
    if args.mode == "fsdp":
        from torch.distributed.fsdp import fully_shard
        mesh = mesh["dp"]
        if args.replicas > 1:
            mesh = init_device_mesh("cpu", (args.replicas, args.dp // args.replicas),
                                    mesh_dim_names=("replicate", "shard"))
        for layer in model.layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    return model


def batch_of(number, args, rank):
    made = torch.Generator().manual_seed(number)
    tokens = torch.randint(args.vocabulary, (args.batch, args.length + 1), generator=made)
    return tokens.chunk(args.dp)[rank] if args.mode != "single" else tokens


def quiet(model, net, args, is_last):
    """Do not reduce gradients before the last part of an accumulated batch."""
    if args.mode == "fsdp":
        model.set_requires_gradient_sync(is_last)
    return net.no_sync() if args.mode == "ddp" and not is_last else contextlib.nullcontext()


def step(model, net, optimizer, number, args, rank):
    parts = batch_of(number, args, rank).chunk(args.accumulate)
    for i, tokens in enumerate(parts):
        with quiet(model, net, args, i == len(parts) - 1):
            logits = net(tokens[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
            (loss / args.accumulate).backward()
    if args.clip:
        nn.utils.clip_grad_norm_(model.parameters(), args.clip)
    optimizer.step()
    optimizer.zero_grad()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", choices=("single", "ddp", "tp", "fsdp"), default="single")
    for name, default in (("tp", 1), ("dp", 1), ("replicas", 1), ("layers", 2), ("width", 10), ("heads", 4),
                          ("head-size", 3), ("length", 6), ("batch", 36), ("vocabulary", 14), ("accumulate", 1),
                          ("steps", 3)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--clip", type=float, default=0)
    parser.add_argument("--sequence", action="store_true")
    parser.add_argument("--optimizer", choices=("sgd", "adamw"), default="adamw")
    return parser.parse_args()


def main():
    args = arguments()
    torch.manual_seed(0)
    rank = 0
    if args.mode != "single":
        dist.init_process_group("gloo")
        rank = dist.get_rank() // args.tp
    model = Model(args)
    net = parallelize(model, args)
    kinds = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}
    optimizer = kinds[args.optimizer](model.parameters(), lr=0.1)
    for number in range(args.steps):
        step(model, net, optimizer, number, args, rank)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
