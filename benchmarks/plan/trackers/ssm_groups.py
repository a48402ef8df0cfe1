# SPDX-License-Identifier: Apache-2.0
"""A state-space mixer in the manner of Mamba-2 under tensor parallelism: one projection for gate, values, B, C and step
sizes, a causal convolution of each channel, the scan, a gated norm in groups, a projection back. Channels, groups and
heads are split. Bugs: group_size (state-spaces/mamba #908, #916, #951: the size of a norm's group is taken from split
channels and all groups), no_copy (the gradient of the mixer's input is not summed over tp, as in SkyRL #1886),
bias_share (torchtitan #4332: each rank adds its share of the bias of a row-split layer, and its gradient is a share,
too)."""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, WIDTH, HEADS, SIZE, GROUPS, STATE, KERNEL, BATCH, LENGTH, LAYERS = 25, 10, 8, 3, 4, 5, 4, 9, 7, 2
INNER = HEADS * SIZE


class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad, group=ctx.group)
        return grad, None


class Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        x = x.clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class Mixer(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.tp, self.bug = tp, bug
        self.rank, self.size = (dist.get_rank(tp), dist.get_world_size(tp)) if tp else (0, 1)
        self.inner, self.groups, self.heads = INNER // self.size, GROUPS // self.size, HEADS // self.size
        parts = [INNER, INNER, GROUPS * STATE, GROUPS * STATE, HEADS]
        self.in_proj = self.split(torch.randn(sum(parts), WIDTH) / WIDTH ** 0.5, parts)
        channels = [INNER, GROUPS * STATE, GROUPS * STATE]
        self.conv_weight = self.split(torch.randn(sum(channels), KERNEL) / 2, channels)
        self.conv_bias = self.split(torch.randn(sum(channels)) / 3, channels)
        self.a_log, self.d, self.dt_bias = (self.split(torch.rand(HEADS) + i / 4, [HEADS]) for i in range(3))
        self.norm_weight = self.split(torch.rand(INNER) + 0.5, [INNER])
        self.out_weight = nn.Parameter((torch.randn(WIDTH, INNER) / 5).chunk(self.size, 1)[self.rank].clone())
        self.out_bias = nn.Parameter(torch.randn(WIDTH) / 4)

    def split(self, full, parts):
        return nn.Parameter(torch.cat([p.chunk(self.size)[self.rank] for p in full.split(parts)]))

    def gated_norm(self, y, z):
        y = y * F.silu(z)
        if self.bug == "group_size":
            size = self.inner // GROUPS  # place group_size
        else:
            size = self.inner // self.groups
        grouped = y.unflatten(-1, (-1, size))  # place group_size
        scale = torch.rsqrt(grouped.pow(2).mean(-1, keepdim=True) + 1e-5)
        return (grouped * scale).flatten(-2) * self.norm_weight

    def forward(self, x):
        if self.tp and self.bug != "no_copy":  # place no_copy
            x = Copy.apply(x, self.tp)
        bc = self.groups * STATE
        z, xbc, dt = F.linear(x, self.in_proj).split([self.inner, self.inner + 2 * bc, self.heads], -1)  # place no_copy
        xbc = F.conv1d(F.pad(xbc.transpose(1, 2), (KERNEL - 1, 0)), self.conv_weight[:, None], self.conv_bias,
                       groups=xbc.size(-1)).transpose(1, 2)
        v, b, c = F.silu(xbc).split([self.inner, bc, bc], -1)
        v = v.unflatten(-1, (self.heads, SIZE))
        b, c = (t.unflatten(-1, (self.groups, STATE)).repeat_interleave(HEADS // GROUPS, 2) for t in (b, c))
        dt = F.softplus(dt + self.dt_bias)
        decay = torch.exp(-dt * self.a_log.exp())
        state, out = 0, []
        for t in range(v.size(1)):
            new = (dt[:, t, :, None] * v[:, t])[..., None] * b[:, t, :, None]
            state = decay[:, t, :, None, None] * state + new
            out.append((state * c[:, t, :, None]).sum(-1) + self.d[:, None] * v[:, t])
        y = self.gated_norm(torch.stack(out, 1).flatten(2), z)
        if self.bug == "bias_share":
            y = F.linear(y, self.out_weight, self.out_bias / self.size)  # place bias_share
            return Reduce.apply(y, self.tp)  # place bias_share
        y = F.linear(y, self.out_weight)
        return (Reduce.apply(y, self.tp) if self.tp else y) + self.out_bias


class Model(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.norms = nn.ModuleList(nn.RMSNorm(WIDTH) for _ in range(LAYERS))
        self.mixers = nn.ModuleList(Mixer(tp, bug) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        for norm, mixer in zip(self.norms, self.mixers):
            x = x + mixer(norm(x))
        return self.head(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    tp = None
    if args.tp > 1:
        dist.init_process_group("gloo")
        tp = dist.group.WORLD
    torch.manual_seed(51)
    model = Model(tp, args.bug)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(7)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        optimizer.zero_grad()
        F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten()).backward()
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
