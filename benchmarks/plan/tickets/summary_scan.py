# SPDX-License-Identifier: Apache-2.0
"""State-space layers (as Mamba 2) on sequences that are divided over cp, with heads and groups divided over tp. Before
the convolution each rank takes the last tokens of the rank before. Each runs its tokens from an empty state; the states
that come out and the decays are gathered, and each rank makes of them the state that it begins with. The norm behind
the gate has a group of channels for each group of heads. At the end the sequence is gathered, and the classifier is
computed on each rank of cp alike. Bugs:
norm_groups: channels of the norm's groups are counted by the rank's channels and all ranks' groups.
    https://github.com/state-spaces/mamba/pull/951
conv_first: the first rank's convolution begins with the last tokens of the last rank.
    https://github.com/fla-org/flash-linear-attention/pull/774 (there: the gradient of what stands before the start)
gather_twice: gradients of the gathered sequence are summed over ranks that all have the same, and the whole, one.
    https://github.com/THUDM/slime/pull/1748"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

SYMBOLS, WIDTH, HEADS, SIZE, GROUPS, STATE, KERNEL, CLASSES = 29, 11, 12, 4, 4, 3, 4, 10
BATCH, LENGTH, LAYERS = 7, 18, 2


class Reduce(torch.autograd.Function):
    """The sum over a group: of the values, or of their gradients."""
    @staticmethod
    def forward(ctx, x, group, forth):
        ctx.group, ctx.forth, x = group, forth, x.contiguous().clone()
        if forth:
            dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        if not ctx.forth:
            dist.all_reduce(grad, group=ctx.group)
        return grad, None, None


class GatherRanks(torch.autograd.Function):
    """What each rank of a group has, stacked. Gradients are summed, but where all ranks compute the same of it."""
    @staticmethod
    def forward(ctx, x, group, summed):
        ctx.group, ctx.summed = group, summed
        pieces = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]
        dist.all_gather(pieces, x.contiguous(), group=group)
        return torch.stack(pieces)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        if ctx.summed:
            dist.all_reduce(grad, group=ctx.group)
        return grad[dist.get_rank(ctx.group)].clone(), None, None


def part(tensor, dim, group, blocks=None):
    """The rank's part of a tensor, of each of its blocks."""
    if not group:
        return nn.Parameter(tensor)
    pieces = [p.chunk(dist.get_world_size(group), dim) for p in tensor.split(blocks or tensor.size(dim), dim)]
    return nn.Parameter(torch.cat([piece[dist.get_rank(group)] for piece in pieces], dim))


class Mixer(nn.Module):
    def __init__(self, tp, cp, bug):
        super().__init__()
        self.tp, self.cp, self.bug = tp, cp, bug
        inner, states = HEADS * SIZE, GROUPS * STATE
        self.in_proj = part(torch.randn(2 * inner + 2 * states + HEADS, WIDTH) / 3, 0, tp,
                            [inner, inner, states, states, HEADS])
        self.conv = part(torch.randn(inner + 2 * states, KERNEL) / 2, 0, tp, [inner, states, states])
        self.log_decay = part(torch.randn(HEADS) / 4, 0, tp)
        self.step_bias = part(torch.randn(HEADS) / 2, 0, tp)
        self.skip = part(torch.randn(HEADS), 0, tp)
        self.norm = part(1 + torch.randn(inner) / 8, 0, tp)
        self.out_proj = part(torch.randn(WIDTH, inner) / 5, 1, tp)
        size = dist.get_world_size(tp) if tp else 1
        self.inner, self.heads, self.groups = inner // size, HEADS // size, GROUPS // size
        self.group_size = self.inner // (GROUPS if bug == "norm_groups" else self.groups)  # place norm_groups

    def before(self, x):
        """What stands before the rank's tokens."""
        if not self.cp:
            return torch.zeros_like(x[:, :KERNEL - 1])
        tails = GatherRanks.apply(x[:, 1 - KERNEL:], self.cp, True)
        rank = dist.get_rank(self.cp)
        return tails[rank - 1] * float(rank > 0 or self.bug == "conv_first")  # place conv_first

    def scan(self, x, b, c, decays):
        """The outputs from an empty state, the state at the end, and what is left of one that was there before."""
        state, left = x.new_zeros(x.size(0), self.heads, SIZE, STATE), torch.ones_like(decays[:, 0])
        outputs, lefts = [], []
        for t in range(x.size(1)):
            state = state * decays[:, t, :, None, None] + x[:, t].unsqueeze(-1) * b[:, t].unsqueeze(-2)
            left = left * decays[:, t]
            outputs.append((state * c[:, t].unsqueeze(-2)).sum(-1))
            lefts.append(left)
        return torch.stack(outputs, 1), state, torch.stack(lefts, 1)

    def forward(self, x):
        if self.tp:
            x = Reduce.apply(x, self.tp, False)
        states = self.groups * STATE
        z, xbc, dt = F.linear(x, self.in_proj).split([self.inner, self.inner + 2 * states, self.heads], -1)
        padded = torch.cat((self.before(xbc), xbc), 1)
        xbc = F.silu(F.conv1d(padded.transpose(1, 2), self.conv.unsqueeze(1), groups=xbc.size(-1)).transpose(1, 2))
        x, b, c = xbc.split([self.inner, states, states], -1)
        x = x.unflatten(-1, (self.heads, SIZE))
        b, c = (t.unflatten(-1, (self.groups, STATE)).repeat_interleave(self.heads // self.groups, 2) for t in (b, c))
        dt = F.softplus(dt + self.step_bias)
        y, state, left = self.scan(x * dt.unsqueeze(-1), b, c, (-dt * self.log_decay.exp()).exp())
        if self.cp:
            ends, decays = (GatherRanks.apply(t, self.cp, True) for t in (state, left[:, -1]))
            begin, own = torch.zeros_like(state), dist.get_rank(self.cp)
            for rank in range(len(ends)):
                earlier = float(rank < own)
                begin = begin * (earlier * decays[rank] + 1 - earlier)[..., None, None] + earlier * ends[rank]
            y = y + torch.einsum("blh,bhps,blhs->blhp", left, begin, c)
        y = (y + x * self.skip.unsqueeze(-1)).flatten(2) * F.silu(z)
        grouped = y.unflatten(-1, (-1, self.group_size))  # place norm_groups
        y = (grouped * (grouped.square().mean(-1, keepdim=True) + 1e-5).rsqrt()).flatten(2) * self.norm
        y = F.linear(y, self.out_proj)
        return Reduce.apply(y, self.tp, True) if self.tp else y


class Model(nn.Module):
    def __init__(self, tp, cp, bug):
        super().__init__()
        self.cp, self.bug = cp, bug
        self.embed = nn.Embedding(SYMBOLS, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(LAYERS))
        self.mixers = nn.ModuleList(Mixer(tp, cp, bug) for _ in range(LAYERS))
        self.pool, self.classifier = nn.Linear(WIDTH, 1, bias=False), nn.Linear(WIDTH, CLASSES)

    def forward(self, ids):
        x = self.embed(ids)
        for norm, mixer in zip(self.norms, self.mixers):
            x = x + mixer(norm(x))
        if self.cp:
            x = torch.cat(GatherRanks.apply(x, self.cp, self.bug == "gather_twice").unbind(), 1)  # place gather_twice
        weights = self.pool(x).softmax(1)
        return self.classifier((weights * x).sum(1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--cp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    tp, cp, own_cp = None, None, 0
    if args.tp * args.cp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.tp, args.cp), mesh_dim_names=("tp", "cp"))
        tp, cp, own_cp = mesh.get_group("tp"), mesh.get_group("cp"), mesh.get_local_rank("cp")
    torch.manual_seed(29)
    model = Model(tp, cp, args.bug)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(71)
    for _ in range(args.steps):
        ids = torch.randint(SYMBOLS, (BATCH, LENGTH), generator=data)
        labels = torch.randint(CLASSES, (BATCH,), generator=data)
        optimizer.zero_grad()
        F.cross_entropy(model(ids.chunk(args.cp, 1)[own_cp]), labels).backward()
        if cp:
            for name, p in model.named_parameters():
                if not name.startswith(("pool", "classifier")):
                    dist.all_reduce(p.grad, group=cp)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
