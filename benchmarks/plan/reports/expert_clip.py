# SPDX-License-Identifier: Apache-2.0
"""Experts divided over ep, within data parallelism: the tokens of an ep group are gathered, each rank sends them
through its experts, and the sums are scattered back. Copies of an expert are on the ranks of edp. All other parameters
are on all ranks. Clipping by the norm of all gradients. Bugs:
expert_scale: gradients of the experts are averaged over their copies, not over all ranks that sent tokens: ep times.
    https://github.com/deepspeedai/DeepSpeed/pull/5259 and https://github.com/pytorch/pytorch/issues/160285
norm_averaged: the norms of all ranks are averaged, as if each had all experts.
    https://github.com/deepspeedai/DeepSpeed/pull/8478
norm_own: each rank clips by a norm with its own experts only.
    https://github.com/hpcaitech/ColossalAI/issues/2192"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

VOCABULARY, WIDTH, HIDDEN, EXPERTS, BATCH, LENGTH, LAYERS = 27, 11, 9, 6, 8, 5, 2


def joined(x, group):
    pieces = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]
    dist.all_gather(pieces, x.contiguous(), group=group)
    return torch.cat(pieces)


def summed(x, group):
    pieces = [piece.contiguous() for piece in x.chunk(dist.get_world_size(group))]
    mine = torch.empty_like(pieces[0])
    dist.reduce_scatter(mine, pieces, group=group)
    return mine


class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return joined(x, group)

    @staticmethod
    def backward(ctx, grad):
        return summed(grad, ctx.group), None


class Scatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return summed(x, group)

    @staticmethod
    def backward(ctx, grad):
        return joined(grad, ctx.group), None


class Experts(nn.Module):
    def __init__(self, ep):
        super().__init__()
        self.ep = ep
        rank, size = (dist.get_rank(ep), dist.get_world_size(ep)) if ep else (0, 1)
        self.mine = torch.arange(EXPERTS).chunk(size)[rank]
        self.router = nn.Linear(WIDTH, EXPERTS)
        self.up = nn.Parameter((torch.randn(EXPERTS, HIDDEN, WIDTH) / 3).chunk(size)[rank].clone())
        self.down = nn.Parameter((torch.randn(EXPERTS, WIDTH, HIDDEN) / 3).chunk(size)[rank].clone())

    def forward(self, x, ids):
        gates = self.router(x).sigmoid() * F.one_hot(ids % EXPERTS, EXPERTS)
        if self.ep:
            x, gates = Gather.apply(x, self.ep), Gather.apply(gates, self.ep)
        hidden = F.gelu(torch.einsum("btw,ehw->bteh", x, self.up))
        y = torch.einsum("bteh,ewh,bte->btw", hidden, self.down, gates[..., self.mine])
        return Scatter.apply(y, self.ep) if self.ep else y


class Model(nn.Module):
    def __init__(self, ep):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(LAYERS))
        self.layers = nn.ModuleList(Experts(ep) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        x = self.embed(ids)
        for norm, layer in zip(self.norms, self.layers):
            x = x + layer(norm(x), ids)
        return self.head(x)


def is_expert(name):
    return name.endswith((".up", ".down"))


def reduce_gradients(model, edp, ep, bug):
    copies, ranks = dist.get_world_size(edp), dist.get_world_size()
    for name, p in model.named_parameters():
        if is_expert(name):
            dist.all_reduce(p.grad, group=edp)
            p.grad /= copies if bug == "expert_scale" else ranks  # place expert_scale
        else:
            dist.all_reduce(p.grad)
            p.grad /= ranks


def clip(model, most, ep, bug):
    experts, others = torch.zeros(()), torch.zeros(())
    for name, p in model.named_parameters():
        if is_expert(name):
            experts = experts + p.grad.pow(2).sum()
        else:
            others = others + p.grad.pow(2).sum()
    if ep and bug == "norm_averaged":
        norm = (others + experts).sqrt()
        dist.all_reduce(norm)  # place norm_averaged
        norm = norm / dist.get_world_size()  # place norm_averaged
    else:
        if ep and bug != "norm_own":
            dist.all_reduce(experts, group=ep)  # place norm_own norm_averaged
        norm = (others + experts).sqrt()  # place norm_own
    factor = (most / (norm + 1e-6)).clamp(max=1.0)
    for p in model.parameters():
        p.grad.mul_(factor)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--edp", type=int, default=1)
    parser.add_argument("--ep", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    edp, ep, rank, world = None, None, 0, args.edp * args.ep
    if world > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.edp, args.ep), mesh_dim_names=("edp", "ep"))
        edp, ep, rank = mesh.get_group("edp"), mesh.get_group("ep"), dist.get_rank()
    torch.manual_seed(33)
    model = Model(ep)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    data = torch.Generator().manual_seed(6)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data).chunk(world)[rank]
        optimizer.zero_grad()
        F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten()).backward()
        if world > 1:
            reduce_gradients(model, edp, ep, args.bug)
        clip(model, 0.6, ep, args.bug)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
