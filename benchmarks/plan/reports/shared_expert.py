# SPDX-License-Identifier: Apache-2.0
"""Experts divided over the ranks of a tensor-parallel group, all of which see all tokens: each adds what its experts
say, and the sum is taken over the group. A shared expert, split by its hidden width, is part of that sum. Which two
experts a token goes to depends on its id; how much of each, on the router. Bugs:
shared_twice: the shared expert sums its output itself, and it is summed again with that of the experts.
    https://github.com/vllm-project/vllm/issues/49122
router_partial: gradients of the router, of which each rank has those of its experts, are not summed.
    https://github.com/pytorch/torchtitan/issues/2387
tokens_partial: what the experts of each rank send back to the tokens is not summed.
    https://github.com/pytorch/torchtitan/issues/1805"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, WIDTH, HIDDEN, SHARED, EXPERTS, BATCH, LENGTH, LAYERS = 25, 12, 7, 22, 6, 4, 9, 2


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


class Experts(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.tp, self.bug = tp, bug
        rank, size = (dist.get_rank(tp), dist.get_world_size(tp)) if tp else (0, 1)
        self.mine = torch.arange(EXPERTS).chunk(size)[rank]
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.up = nn.Parameter((torch.randn(EXPERTS, HIDDEN, WIDTH) / 3).chunk(size)[rank].clone())
        self.down = nn.Parameter((torch.randn(EXPERTS, WIDTH, HIDDEN) / 3).chunk(size)[rank].clone())
        self.shared_up = nn.Parameter((torch.randn(SHARED, WIDTH) / 3).chunk(size)[rank].clone())
        self.shared_down = nn.Parameter((torch.randn(WIDTH, SHARED) / 4).chunk(size, 1)[rank].clone())

    def shared(self, x):
        y = F.linear(F.silu(F.linear(x, self.shared_up)), self.shared_down)  # place tokens_partial
        if self.tp and self.bug == "shared_twice":
            y = Reduce.apply(y, self.tp)  # place shared_twice
        return y

    def forward(self, x, ids):
        gates = self.router(x).softmax(-1)
        if self.tp:
            if self.bug != "router_partial":
                gates = Copy.apply(gates, self.tp)  # place router_partial
            if self.bug != "tokens_partial":
                x = Copy.apply(x, self.tp)  # place tokens_partial
        chosen = F.one_hot(ids % EXPERTS, EXPERTS) + F.one_hot((ids * 5 + 2) % EXPERTS, EXPERTS)
        gates = (gates * chosen)[..., self.mine]  # place router_partial
        y = torch.einsum("btw,ehw->bteh", x, self.up)  # place tokens_partial
        y = torch.einsum("bteh,ewh,bte->btw", F.silu(y), self.down, gates)
        y = y + self.shared(x)
        return Reduce.apply(y, self.tp) if self.tp else y


class Model(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(LAYERS))
        self.layers = nn.ModuleList(Experts(tp, bug) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        x = self.embed(ids)
        for norm, layer in zip(self.norms, self.layers):
            x = x + layer(norm(x), ids)
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
    torch.manual_seed(8)
    model = Model(tp, args.bug)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(19)
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
