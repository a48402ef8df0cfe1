"""What the scripts of this folder share: the ranks' groups and the four collectives that autograd knows."""
import argparse

import torch
import torch.distributed as dist


def arguments(*axes):
    parser = argparse.ArgumentParser()
    for axis in axes:
        parser.add_argument("--" + axis, type=int, default=1)
    parser.add_argument("--bug", action="store_true")
    args = parser.parse_args()
    sizes = [getattr(args, axis) for axis in axes]
    args.world = 1
    for size in sizes:
        args.world *= size
    args.rank = 0
    if args.world > 1:
        dist.init_process_group("gloo")
        args.rank = dist.get_rank()
    args.index, args.group = {}, {}
    stride = args.world
    for axis, size in zip(axes, sizes):
        stride //= size
        args.index[axis] = args.rank // stride % size
        starts = [r for r in range(args.world) if r // stride % size == 0]
        for start in starts if args.world > 1 else ():
            ranks = [start + stride * i for i in range(size)]
            group = dist.new_group(ranks)
            if args.rank in ranks:
                args.group[axis] = group
    return args


class _Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.all_reduce(grad, group=ctx.group)
        return grad, None


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        x = x.clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


def enter(x, group):
    """Forward the identity, backward a sum: the input of a column-parallel layer."""
    return x if group is None else _Copy.apply(x, group)


def leave(x, group):
    """Forward a sum, backward the identity: the output of a row-parallel layer."""
    return x if group is None else _Sum.apply(x, group)

# SPDX-License-Identifier: Apache-2.0
