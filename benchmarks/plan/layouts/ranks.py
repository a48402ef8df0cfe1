"""What the scripts of this folder share: options, the device mesh, and collectives that autograd knows."""
import argparse

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh


class Job:
    """The mesh of a job: index, size and group of each axis. On one device all sizes are 1, and groups are None."""

    def __init__(self, *axes):
        parser = argparse.ArgumentParser()
        for axis in axes:
            parser.add_argument("--" + axis, type=int, default=1)
        parser.add_argument("--bug", default="", help="the name of the mistake that is made")
        args = parser.parse_args()
        self.bug = args.bug
        self.size = {axis: getattr(args, axis) for axis in axes}
        self.parallel = any(size > 1 for size in self.size.values())
        self.index, self.group, self.mesh = dict.fromkeys(axes, 0), dict.fromkeys(axes), None
        if self.parallel:
            dist.init_process_group("gloo")
            self.mesh = init_device_mesh("cpu", tuple(self.size.values()), mesh_dim_names=axes)
            self.index = {axis: self.mesh.get_local_rank(axis) for axis in axes}
            self.group = {axis: self.mesh.get_group(axis) for axis in axes}


def reduced(x, group, op=dist.ReduceOp.SUM):
    x = x.detach().clone(memory_format=torch.contiguous_format)
    if group is not None:
        dist.all_reduce(x, op=op, group=group)
    return x


def gathered(x, group, dim):
    parts = [torch.empty_like(x, memory_format=torch.contiguous_format) for _ in range(dist.get_world_size(group))]
    dist.all_gather(parts, x.detach().contiguous(), group=group)
    return torch.cat(parts, dim)


def scattered(x, group, dim):
    """The rank's part of the sum over the group."""
    parts = [part.contiguous() for part in x.detach().chunk(dist.get_world_size(group), dim)]
    mine = torch.empty_like(parts[0])
    dist.reduce_scatter(mine, parts, group=group)
    return mine


class CopyToRegion(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return reduced(grad, ctx.group), None


class ReduceFromRegion(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        return reduced(x, group)

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class GatherSequence(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group, dim):
        ctx.group, ctx.dim = group, dim
        return gathered(x, group, dim)

    @staticmethod
    def backward(ctx, grad):
        return scattered(grad, ctx.group, ctx.dim), None, None


class ScatterSequence(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group, dim):
        ctx.group, ctx.dim = group, dim
        return scattered(x, group, dim)

    @staticmethod
    def backward(ctx, grad):
        return gathered(grad, ctx.group, ctx.dim), None, None


def text(step, batch, length, vocabulary):
    """Inputs and labels."""
    tokens = (torch.arange(batch * (length + 1)).view(batch, -1) * (2 * step + 3) + step) % vocabulary
    return tokens[:, :-1], tokens[:, 1:]

# SPDX-License-Identifier: Apache-2.0
