"""A Llama with tensor parallelism by DTensor, a pipeline of torch.distributed.pipelining, ring attention over cp, and data
parallelism by hand; with --loss-parallel the head is split by rows of the vocabulary, and the loss is loss_parallel's.

--pp 1 --tp 1 --dp 1 --cp 1 is the single-device program, on the batch of one data-parallel copy. The layout of Llama 3 405B,
with a reduced width, is that of --layers 126 --pp 16 --dp 64 --tp 8; benchmarks/plan/layout405b.py runs it."""
import argparse
import contextlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed import pipelining
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, loss_parallel, parallelize_module

from ring import Ring

VOCABULARY, WIDTH, INNER, HEADS, KEY_HEADS, HEAD_SIZE = 48, 40, 56, 32, 16, 6


class Part:
    """The tokens of each sequence that this rank has, and the ring over which keys and values travel."""

    def __init__(self, length, rank=0, ranks=1, group=None):
        self.rank, self.ranks, self.group = rank, ranks, group
        self.tokens = range(length * rank // ranks, length * (rank + 1) // ranks)

    def of(self, tokens):
        return tokens[:, self.tokens.start:self.tokens.stop]


def rotary(tokens):
    angles = torch.outer(torch.tensor(tokens).double(), 0.1 ** (torch.arange(HEAD_SIZE // 2) / (HEAD_SIZE // 2)))
    angles = torch.cat((angles, angles), -1)
    return angles.cos().float(), angles.sin().float()


def rotate(x, table):
    first, second = x.chunk(2, -1)
    return x * table[0] + torch.cat((-second, first), -1) * table[1]


class Attention(nn.Module):
    def __init__(self, part):
        super().__init__()
        self.part = part
        self.q, self.out = (nn.Linear(*sizes, bias=False) for sizes in ((WIDTH, HEADS * HEAD_SIZE), (HEADS * HEAD_SIZE, WIDTH)))
        self.k, self.v = (nn.Linear(WIDTH, KEY_HEADS * HEAD_SIZE, bias=False) for _ in range(2))
        self.table = rotary(part.tokens)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (t.view(batch, length, -1, HEAD_SIZE).transpose(1, 2) for t in (self.q(x), self.k(x), self.v(x)))
        q, k = rotate(q, self.table), rotate(k, self.table)
        if self.part.ranks > 1:
            k, v = (t.repeat_interleave(HEADS // KEY_HEADS, 1) for t in (k, v))
            mixed = Ring.apply(q, k, v, "flash", self.part.rank, self.part.ranks, self.part.group)
        else:
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, -1))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.up, self.down = (nn.Linear(*sizes, bias=False) for sizes in ((WIDTH, INNER), (WIDTH, INNER), (INNER, WIDTH)))

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, part):
        super().__init__()
        self.norm1, self.norm2, self.attention, self.mlp = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH), Attention(part), Mlp()

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    """All of it, or the layers of one stage under their names in the whole."""

    def __init__(self, numbers, part, has_first, has_last):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH) if has_first else None
        self.layers = nn.ModuleDict({str(n): Block(part) for n in numbers})
        self.norm = nn.RMSNorm(WIDTH) if has_last else None
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False) if has_last else None

    def forward(self, x):
        x = self.embed(x) if self.embed else x
        for layer in self.layers.values():
            x = layer(x)
        return self.head(self.norm(x)) if self.head else x


def layers_of(stage, args):
    """Those that do not divide go to the stages in the middle: the first has the embedding, the last the head."""
    counts = [args.layers // args.pp] * args.pp
    for n in range(args.layers % args.pp):
        counts[(n + 1) % args.pp] += 1
    return range(sum(counts[:stage]), sum(counts[:stage + 1]))


def split(model, mesh, is_loss_parallel):
    plan = {f"attention.{name}": ColwiseParallel() for name in "qkv"}
    plan.update({"attention.out": RowwiseParallel(), "mlp.gate": ColwiseParallel(), "mlp.up": ColwiseParallel(),
                 "mlp.down": RowwiseParallel()})
    for layer in model.layers.values():
        parallelize_module(layer, mesh, plan)
    if model.head and is_loss_parallel:
        parallelize_module(model.head, mesh, ColwiseParallel(output_layouts=Shard(-1), use_local_output=False))


def loss_of(out, target):
    return F.cross_entropy(out.flatten(0, 1), target.flatten())


class Job:
    """This rank's stage and how it takes a step."""

    def __init__(self, args):
        self.args, self.rows = args, args.batch // args.micro
        sizes = {name: getattr(args, name) for name in ("pp", "dp", "cp", "tp")}
        mesh = init_device_mesh("cpu", tuple(sizes.values()), mesh_dim_names=tuple(sizes))
        self.groups = [mesh[name].get_group() for name in ("dp", "cp") if sizes[name] > 1]
        self.part = Part(args.length, mesh.get_local_rank("cp"), args.cp, mesh["cp"].get_group())
        stage = mesh.get_local_rank("pp")
        self.has_first, self.has_last = stage == 0, stage == args.pp - 1
        self.model = Model(layers_of(stage, args), self.part, self.has_first, self.has_last)
        split(self.model, mesh["tp"], args.loss_parallel)
        self.schedule = self.schedule_of(stage, mesh["pp"].get_group())

    def schedule_of(self, stage, group):
        args, length = self.args, len(self.part.tokens)
        between = torch.empty(self.rows, length, WIDTH)
        given = torch.zeros(self.rows, length, dtype=torch.long) if self.has_first else between.clone().requires_grad_()
        made = torch.empty(self.rows, length, VOCABULARY) if self.has_last else between
        stage = pipelining.PipelineStage(self.model, stage, args.pp, torch.device("cpu"), input_args=(given,),
                                         output_args=(made.clone().requires_grad_(),), group=group)
        kind = pipelining.Schedule1F1B if args.schedule == "1f1b" else pipelining.ScheduleGPipe
        return kind(stage, args.micro, loss_fn=loss_of)

    def backward(self, x, y):
        x, y = self.part.of(x), self.part.of(y)
        with loss_parallel() if self.args.loss_parallel else contextlib.nullcontext():
            self.schedule.step(*([x] if self.has_first else []), **({"target": y} if self.has_last else {}))
        for parameter in self.model.parameters():
            grad = parameter.grad.to_local() if isinstance(parameter.grad, DTensor) else parameter.grad
            for group in self.groups:
                dist.all_reduce(grad, group=group)
            grad.div_(self.args.dp * self.args.cp)


class Alone:
    def __init__(self, args):
        self.args, self.model = args, Model(range(args.layers), Part(args.length), True, True)

    def backward(self, x, y):
        for xs, ys in zip(x.chunk(self.args.micro), y.chunk(self.args.micro)):
            (loss_of(self.model(xs), ys) / self.args.micro).backward()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("pp", 1), ("dp", 1), ("cp", 1), ("tp", 1), ("layers", 4), ("length", 5), ("micro", 4),
                          ("batch", 12), ("steps", 3)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--schedule", choices=("gpipe", "1f1b"), default="gpipe")
    parser.add_argument("--loss-parallel", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.pp * args.dp * args.cp * args.tp > 1:
        dist.init_process_group("gloo")
        job = Job(args)
    else:
        job = Alone(args)
    optimizer = torch.optim.AdamW(job.model.parameters(), lr=0.1)
    for number in range(args.steps):
        made = torch.Generator().manual_seed(number)
        x, y = (torch.randint(VOCABULARY, (args.batch, args.length), generator=made) for _ in range(2))
        optimizer.zero_grad()
        job.backward(x, y)
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
