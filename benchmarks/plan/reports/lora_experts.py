# SPDX-License-Identifier: Apache-2.0
"""Adapters of low rank on experts whose hidden width is split over tensor parallelism, without collectives within the
experts: what they give is a part of a sum that is taken once, over all experts. Of each pair of factors one is split
and one is whole. The base weights are frozen, embedding and output layer are trained. Bugs:
a_unsummed: gradients of the whole first factors, of which each rank has a part, are not summed.
    https://github.com/ISEEKYAN/Megatron-LM/pull/131
delta_counted: the adapter of the second matrix sums its own output, which is then summed with that of the expert.
    https://github.com/NVIDIA-NeMo/Megatron-Bridge/issues/5634
delta_detached: the adapter sums its output where autograd does not see it, and trains nothing.
    https://github.com/NVIDIA-NeMo/Megatron-Bridge/issues/5634"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, WIDTH, HIDDEN, RANK, EXPERTS, BATCH, LENGTH, LAYERS, SCALE = 28, 10, 16, 4, 3, 5, 7, 2, 2.0


class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.all_reduce(grad, group=ctx.group)
        return grad, None


class Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        x = x.contiguous().clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class Expert(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.tp, self.bug = tp, bug
        rank, size = (dist.get_rank(tp), dist.get_world_size(tp)) if tp else (0, 1)

        def part(out, into, dim=None, train=False):
            whole = torch.randn(out, into) / into ** 0.5
            mine = whole if dim is None else whole.chunk(size, dim)[rank].clone()
            return nn.Parameter(mine, requires_grad=train)
        self.up, self.down = part(HIDDEN, WIDTH, 0), part(WIDTH, HIDDEN, 1)
        self.up_a, self.up_b = part(RANK, WIDTH, None, True), part(HIDDEN, RANK, 0, True)
        self.down_a, self.down_b = part(RANK, HIDDEN, 1, True), part(WIDTH, RANK, None, True)

    def delta(self, x):
        """What the adapter of `down` adds: a part of a sum, as `down` gives."""
        if not self.tp or not self.bug.startswith("delta"):
            return F.linear(F.linear(x, self.down_a), self.down_b)
        if self.bug == "delta_detached":
            low = F.linear(x, self.down_a).detach().clone()  # place delta_detached
            dist.all_reduce(low, group=self.tp)  # place delta_detached
            return F.linear(low, self.down_b).detach() / dist.get_world_size(self.tp)  # place delta_detached
        return Reduce.apply(F.linear(F.linear(x, self.down_a), self.down_b), self.tp)  # place delta_counted

    def forward(self, x):
        h = F.gelu(F.linear(x, self.up) + SCALE * F.linear(F.linear(x, self.up_a), self.up_b))
        return F.linear(h, self.down) + SCALE * self.delta(h)


class Layer(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.tp = tp
        self.norm = nn.LayerNorm(WIDTH)
        self.norm.requires_grad_(False)
        self.experts = nn.ModuleList(Expert(tp, bug) for _ in range(EXPERTS))

    def forward(self, x, ids):
        h = self.norm(x)
        if self.tp:
            h = Copy.apply(h, self.tp)
        y = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            y = y + expert(h) * (ids % EXPERTS == i).unsqueeze(-1)
        return x + (Reduce.apply(y, self.tp) if self.tp else y)


class Model(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer(tp, bug) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x, ids)
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
    torch.manual_seed(26)
    model = Model(tp, args.bug)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(39)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        optimizer.zero_grad()
        F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten()).backward()
        if tp:
            whole = ("down_b",) if args.bug == "a_unsummed" else ("up_a", "down_b")  # place a_unsummed
            for name, p in model.named_parameters():
                if name.endswith(whole) and p.grad is not None:
                    dist.all_reduce(p.grad, group=tp)  # place a_unsummed
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
