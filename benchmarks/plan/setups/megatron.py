"""A GPT with tensor, sequence and data parallelism written by hand, as Megatron-LM does it.

Each rank keeps its slice of weights that all ranks make alike; --tp 1 --dp 1 is the single-device program."""
import argparse
import math
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


class Groups:
    """This rank's groups; without a job all of size 1."""

    def __init__(self, tp, dp):
        self.tp, self.dp, self.tp_rank, self.dp_rank, self.tp_group, self.dp_group = tp, dp, 0, 0, None, None
        if tp * dp > 1:
            dist.init_process_group("gloo")
            rank = dist.get_rank()
            self.tp_rank, self.dp_rank = rank % tp, rank // tp
            for i in range(dp):
                group = dist.new_group([i * tp + j for j in range(tp)])
                self.tp_group = group if i == self.dp_rank else self.tp_group
            for j in range(tp):
                group = dist.new_group([i * tp + j for i in range(dp)])
                self.dp_group = group if j == self.tp_rank else self.dp_group


class CopyToTensorRanks(torch.autograd.Function):
    """Identity; its backward sums the gradients of the ranks."""

    @staticmethod
    def forward(ctx, x, groups):
        ctx.groups = groups
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad, group=ctx.groups.tp_group)
        return grad, None


class SumOverTensorRanks(torch.autograd.Function):
    """All-reduce; its backward is the identity."""

    @staticmethod
    def forward(ctx, x, groups):
        x = x.clone()
        dist.all_reduce(x, group=groups.tp_group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


def gather_sequence(x, groups):
    out = x.new_empty((groups.tp, *x.shape))
    dist.all_gather_into_tensor(out.view(-1), x.contiguous().view(-1), group=groups.tp_group)
    return torch.cat(list(out.unbind(0)), 1)


def scatter_sequence(x, groups):
    rows = torch.cat([part.contiguous().view(-1) for part in x.chunk(groups.tp, 1)])
    out = x.new_empty((x.shape[0], x.shape[1] // groups.tp, x.shape[2]))
    dist.reduce_scatter_tensor(out.view(-1), rows, group=groups.tp_group)
    return out


class GatherSequence(torch.autograd.Function):
    """All-gather along the sequence; its backward reduces and scatters."""

    @staticmethod
    def forward(ctx, x, groups):
        ctx.groups = groups
        return gather_sequence(x, groups)

    @staticmethod
    def backward(ctx, grad):
        return scatter_sequence(grad, ctx.groups), None


class ScatterSequence(torch.autograd.Function):
    """Reduce-scatter along the sequence; its backward gathers."""

    @staticmethod
    def forward(ctx, x, groups):
        ctx.groups = groups
        return scatter_sequence(x, groups)

    @staticmethod
    def backward(ctx, grad):
        return gather_sequence(grad, ctx.groups), None


def part_of(full, dim, groups):
    return nn.Parameter(full.chunk(groups.tp, dim)[groups.tp_rank].clone())


class ColumnLinear(nn.Module):
    """Each rank has some of the outputs."""

    def __init__(self, n_in, n_out, groups, sequence):
        super().__init__()
        self.groups, self.sequence = groups, sequence
        self.weight = part_of(torch.randn(n_out, n_in) * 0.3, 0, groups)
        self.bias = part_of(torch.randn(n_out) * 0.3, 0, groups)

    def forward(self, x):
        if self.groups.tp > 1:
            x = GatherSequence.apply(x, self.groups) if self.sequence else CopyToTensorRanks.apply(x, self.groups)
        return F.linear(x, self.weight, self.bias)


class RowLinear(nn.Module):
    """Each rank has some of the inputs, and all outputs are summed."""

    def __init__(self, n_in, n_out, groups, sequence):
        super().__init__()
        self.groups, self.sequence = groups, sequence
        self.weight = part_of(torch.randn(n_out, n_in) * 0.3, 1, groups)
        self.bias = nn.Parameter(torch.randn(n_out) * 0.3)

    def forward(self, x):
        out = F.linear(x, self.weight)
        if self.groups.tp > 1:
            sum_up = ScatterSequence if self.sequence else SumOverTensorRanks
            out = sum_up.apply(out, self.groups)
        return out + self.bias


class Attention(nn.Module):
    def __init__(self, width, head_size, heads, groups, sequence):
        super().__init__()
        self.head_size = head_size
        self.q, self.k, self.v = (ColumnLinear(width, heads * head_size, groups, sequence) for _ in range(3))
        self.out = RowLinear(heads * head_size, width, groups, sequence)

    def scale(self, q):
        return 1 / math.sqrt(self.head_size)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        batch, length, _ = q.shape
        q, k, v = (t.view(batch, length, -1, self.head_size).transpose(1, 2) for t in (q, k, v))
        scores = q @ k.transpose(-1, -2) * self.scale(q)
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(later, float("-inf")).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, -1))


class Mlp(nn.Module):
    def __init__(self, width, groups, sequence):
        super().__init__()
        self.up = ColumnLinear(width, 4 * width, groups, sequence)
        self.down = RowLinear(4 * width, width, groups, sequence)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self, args, groups):
        super().__init__()
        self.dropout = args.dropout
        self.norm1, self.norm2 = nn.LayerNorm(args.width), nn.LayerNorm(args.width)
        self.attention = Attention(args.width, args.head_size, args.heads, groups, args.sequence)
        self.mlp = Mlp(args.width, groups, args.sequence)

    def forward(self, x):
        x = x + F.dropout(self.attention(self.norm1(x)), self.dropout)
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, args, groups):
        super().__init__()
        self.layers = nn.ModuleList(Block(args, groups) for _ in range(args.layers))
        self.norm = nn.LayerNorm(args.width)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


def is_split(name):
    """Has each tensor rank its own part of this parameter?"""
    return name.split(".")[-2] in ("q", "k", "v", "up") or name.endswith(("out.weight", "down.weight"))


def loss_of(model, x, y, args, groups):
    loss = ((model(x) - y) ** 2).mean()
    if args.sequence and groups.tp > 1:
        loss = loss / groups.tp  # of the tokens of this rank
    return loss / args.accumulate


def reduce_gradients(model, args, groups):
    for name, parameter in model.named_parameters():
        if args.sequence and groups.tp > 1 and not is_split(name):
            dist.all_reduce(parameter.grad, group=groups.tp_group)
        if groups.dp > 1:
            dist.all_reduce(parameter.grad, group=groups.dp_group)
            parameter.grad.div_(groups.dp)


def clip(model, limit, groups):
    total = torch.zeros(())
    for split in (True, False):
        grads = [p.grad for name, p in model.named_parameters() if is_split(name) == split]
        squares = torch.stack([(grad ** 2).sum() for grad in grads]).sum()
        if split and groups.tp > 1:
            dist.all_reduce(squares, group=groups.tp_group)
        total = total + squares
    factor = (limit / (total.sqrt() + 1e-6)).clamp(max=1.0)
    for parameter in model.parameters():
        parameter.grad.mul_(factor)


def batch_of(step, args, groups):
    """Rows of the data rank, and with --sequence the tokens of the tensor rank."""
    made = torch.Generator().manual_seed(step)
    x, y = (torch.randn(args.batch, args.length, args.width, generator=made) for _ in range(2))
    x, y = (t.chunk(groups.dp)[groups.dp_rank] for t in (x, y))
    if args.sequence:
        x, y = (t.chunk(groups.tp, 1)[groups.tp_rank].contiguous() for t in (x, y))
    return x, y


def step(model, optimizer, number, args, groups):
    optimizer.zero_grad()
    x, y = batch_of(number, args, groups)
    for xs, ys in zip(x.chunk(args.accumulate), y.chunk(args.accumulate)):
        loss_of(model, xs, ys, args, groups).backward()
    reduce_gradients(model, args, groups)
    if args.clip:
        clip(model, args.clip, groups)
    optimizer.step()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("tp", 1), ("dp", 1), ("layers", 2), ("width", 10), ("heads", 4), ("head-size", 3),
                          ("length", 6), ("batch", 28), ("accumulate", 1), ("steps", 3)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--clip", type=float, default=0)
    parser.add_argument("--dropout", type=float, default=0)
    parser.add_argument("--sequence", action="store_true", help="split the sequence between the layers' matrices")
    parser.add_argument("--optimizer", default="sgd")
    args = parser.parse_args()
    args.sequence = args.sequence and int(os.environ.get("WORLD_SIZE", 1)) > 1
    return args


def main():
    args = arguments()
    groups = Groups(args.tp, args.dp)
    torch.manual_seed(0)
    model = Model(args, groups)
    kinds = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}
    optimizer = kinds[args.optimizer](model.parameters(), lr=0.1)
    for number in range(args.steps):
        step(model, optimizer, number, args, groups)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
