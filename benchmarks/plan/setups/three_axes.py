"""A Llama with tensor parallelism by DTensor, a pipeline of torch.distributed.pipelining, and data parallelism by hand.

--pp 1 --tp 1 --dp 1 is the single-device program, on the batch of one data-parallel copy. The layout of Llama 3 405B, with a
reduced width, is that of --layers 126 --pp 16 --dp 64 --tp 8; benchmarks/plan/layout405b.py runs it."""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed import pipelining
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

VOCABULARY, WIDTH, INNER, HEADS, KEY_HEADS, HEAD_SIZE, LENGTH = 48, 40, 56, 32, 16, 6, 5


def rotary():
    angles = torch.outer(torch.arange(LENGTH).double(), 0.1 ** (torch.arange(HEAD_SIZE // 2) / (HEAD_SIZE // 2)))
    angles = torch.cat((angles, angles), -1)
    return angles.cos().float(), angles.sin().float()


def rotate(x, table):
    first, second = x.chunk(2, -1)
    return x * table[0] + torch.cat((-second, first), -1) * table[1]


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.out = (nn.Linear(*sizes, bias=False) for sizes in ((WIDTH, HEADS * HEAD_SIZE), (HEADS * HEAD_SIZE, WIDTH)))
        self.k, self.v = (nn.Linear(WIDTH, KEY_HEADS * HEAD_SIZE, bias=False) for _ in range(2))
        self.table = rotary()

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (t.view(batch, length, -1, HEAD_SIZE).transpose(1, 2) for t in (self.q(x), self.k(x), self.v(x)))
        q, k = rotate(q, self.table), rotate(k, self.table)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, -1))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.up, self.down = (nn.Linear(*sizes, bias=False) for sizes in ((WIDTH, INNER), (WIDTH, INNER), (INNER, WIDTH)))

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2, self.attention, self.mlp = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH), Attention(), Mlp()

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    """All of it, or the layers of one stage under their names in the whole."""

    def __init__(self, numbers, has_first, has_last):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH) if has_first else None
        self.layers = nn.ModuleDict({str(n): Block() for n in numbers})
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


def split(model, mesh):
    plan = {f"attention.{name}": ColwiseParallel() for name in "qkv"}
    plan.update({"attention.out": RowwiseParallel(), "mlp.gate": ColwiseParallel(), "mlp.up": ColwiseParallel(),
                 "mlp.down": RowwiseParallel()})
    for layer in model.layers.values():
        parallelize_module(layer, mesh, plan)


def loss_of(out, target):
    return F.cross_entropy(out.flatten(0, 1), target.flatten())


class Job:
    """This rank's stage and how it takes a step."""

    def __init__(self, args):
        self.args, self.rows = args, args.batch // args.micro
        mesh = init_device_mesh("cpu", (args.pp, args.dp, args.tp), mesh_dim_names=("pp", "dp", "tp"))
        self.stage, self.copies = mesh.get_local_rank("pp"), mesh["dp"].get_group()
        self.has_first, self.has_last = self.stage == 0, self.stage == args.pp - 1
        self.model = Model(layers_of(self.stage, args), self.has_first, self.has_last)
        split(self.model, mesh["tp"])
        between = torch.empty(self.rows, LENGTH, WIDTH)
        given = torch.zeros(self.rows, LENGTH, dtype=torch.long) if self.has_first else between.clone().requires_grad_()
        made = torch.empty(self.rows, LENGTH, VOCABULARY) if self.has_last else between
        stage = pipelining.PipelineStage(self.model, self.stage, args.pp, torch.device("cpu"), input_args=(given,),
                                         output_args=(made.clone().requires_grad_(),), group=mesh["pp"].get_group())
        kind = pipelining.Schedule1F1B if args.schedule == "1f1b" else pipelining.ScheduleGPipe
        self.schedule = kind(stage, args.micro, loss_fn=loss_of)

    def backward(self, x, y):
        self.schedule.step(*([x] if self.has_first else []), **({"target": y} if self.has_last else {}))
        for parameter in self.model.parameters():
            grad = parameter.grad.to_local() if isinstance(parameter.grad, DTensor) else parameter.grad
            dist.all_reduce(grad, group=self.copies)
            grad.div_(self.args.dp)


class Alone:
    def __init__(self, args):
        self.args, self.model = args, Model(range(args.layers), True, True)

    def backward(self, x, y):
        for xs, ys in zip(x.chunk(self.args.micro), y.chunk(self.args.micro)):
            (loss_of(self.model(xs), ys) / self.args.micro).backward()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("pp", 1), ("dp", 1), ("tp", 1), ("layers", 4), ("micro", 4), ("batch", 12), ("steps", 3)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--schedule", choices=("gpipe", "1f1b"), default="gpipe")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.pp * args.dp * args.tp > 1:
        dist.init_process_group("gloo")
        job = Job(args)
    else:
        job = Alone(args)
    optimizer = torch.optim.AdamW(job.model.parameters(), lr=0.1)
    for number in range(args.steps):
        made = torch.Generator().manual_seed(number)
        x, y = (torch.randint(VOCABULARY, (args.batch, LENGTH), generator=made) for _ in range(2))
        optimizer.zero_grad()
        job.backward(x, y)
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
