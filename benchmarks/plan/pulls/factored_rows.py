# SPDX-License-Identifier: Apache-2.0
"""Adafactor on weights that are split over tp: a second moment for rows and one for columns, each of the whole matrix;
updates are clipped by their root mean square, and scaled by that of the parameter. Gradients are clipped by the norm of
all before. The model has column and row parallel MLPs. Bugs:
row_mean_local: the mean of the row moments is taken over the rows of the rank.
    https://github.com/pytorch/pytorch/issues/109581
rms_local: updates are clipped by the root mean square of the shard.
    https://github.com/hpcaitech/ColossalAI/pull/5484
replicas_counted: squares of all gradients are summed over tp, those of parameters that each rank has, too.
    https://github.com/NVIDIA-NeMo/RL/pull/3788"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

VOCABULARY, WIDTH, HIDDEN, BATCH, LENGTH, LAYERS, MOST = 25, 10, 21, 4, 6, 2, 0.5


class ToParts(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(grad, group=ctx.group)
        return grad, None


class FromParts(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        x = x.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


def shard(whole, dim, group):
    """A parameter that knows which of its dimensions is split."""
    if group:
        whole = whole.chunk(dist.get_world_size(group), dim)[dist.get_rank(group)].clone()
    p = nn.Parameter(whole)
    p.split_dim = dim if group else None
    return p


class Mlp(nn.Module):
    def __init__(self, group):
        super().__init__()
        self.group, self.norm = group, nn.LayerNorm(WIDTH)
        self.up = shard(torch.randn(HIDDEN, WIDTH) / 3, 0, group)
        self.up_bias = shard(torch.randn(HIDDEN) / 3, 0, group)
        self.down = shard(torch.randn(WIDTH, HIDDEN) / 4, 1, group)
        self.down_bias = nn.Parameter(torch.randn(WIDTH) / 3)

    def forward(self, x):
        h = self.norm(x)
        if self.group:
            h = ToParts.apply(h, self.group)
        y = F.linear(F.gelu(F.linear(h, self.up, self.up_bias)), self.down)
        if self.group:
            y = FromParts.apply(y, self.group)
        return x + y + self.down_bias


class Model(nn.Module):
    def __init__(self, group):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Mlp(group) for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class Adafactor(torch.optim.Optimizer):
    def __init__(self, params, group, bug, lr=0.05, decay=0.75, eps=1e-6, clip=1.0, least_scale=1e-3):
        super().__init__(params, dict(lr=lr, decay=decay, eps=eps, clip=clip, least_scale=least_scale))
        self.group, self.bug = group, bug

    def mean(self, x, dims, p, whole=True):
        """The mean over dimensions, of all ranks where one of them is split."""
        x = x.mean(dims, keepdim=True)
        split = getattr(p, "split_dim", None)
        if whole and split is not None and split in dims:
            dist.all_reduce(x, group=self.group)
            x = x / dist.get_world_size(self.group)
        return x

    @torch.no_grad()
    def step(self, closure=None):
        for options in self.param_groups:
            for p in options["params"]:
                state, square = self.state[p], p.grad.square() + options["eps"]
                if p.dim() == 2:
                    row, column = self.mean(square, (1,), p), self.mean(square, (0,), p)
                    if not state:
                        state["row"], state["column"] = torch.zeros_like(row), torch.zeros_like(column)
                    state["row"].lerp_(row, 1 - options["decay"])
                    state["column"].lerp_(column, 1 - options["decay"])
                    rows = self.mean(state["row"], (0,), p, self.bug != "row_mean_local")  # place row_mean_local
                    update = p.grad * (state["row"] / rows).rsqrt() * state["column"].rsqrt()  # place row_mean_local
                else:
                    if not state:
                        state["square"] = torch.zeros_like(square)
                    state["square"].lerp_(square, 1 - options["decay"])
                    update = p.grad * state["square"].rsqrt()
                dims = tuple(range(p.dim()))
                rms = self.mean(update.square(), dims, p, self.bug != "rms_local").sqrt()  # place rms_local
                update = update / (rms / options["clip"]).clamp(min=1.0)  # place rms_local
                scale = self.mean(p.square(), dims, p).sqrt().clamp(min=options["least_scale"])
                p.sub_(options["lr"] * scale * update)


def clip(model, group, bug):
    split, others = torch.zeros(()), torch.zeros(())
    for p in model.parameters():
        if group and (getattr(p, "split_dim", None) is not None or bug == "replicas_counted"):
            split = split + p.grad.square().sum()  # place replicas_counted
        else:
            others = others + p.grad.square().sum()
    if group:
        dist.all_reduce(split, group=group)  # place replicas_counted
    factor = (MOST / ((split + others).sqrt() + 1e-6)).clamp(max=1.0)
    for p in model.parameters():
        p.grad.mul_(factor)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    group = None
    if args.tp > 1:
        dist.init_process_group("gloo")
        group = init_device_mesh("cpu", (args.tp,), mesh_dim_names=("tp",)).get_group()
    torch.manual_seed(71)
    model = Model(group)
    optimizer = Adafactor(model.parameters(), group, args.bug)
    data = torch.Generator().manual_seed(17)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        optimizer.zero_grad()
        F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten()).backward()
        clip(model, group, args.bug)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
