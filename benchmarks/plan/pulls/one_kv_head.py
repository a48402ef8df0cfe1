# SPDX-License-Identifier: Apache-2.0
"""Multi-query attention under tensor parallelism, by hooks on gradients: queries and hidden layers are split, the one
head of keys and values is computed on all ranks, and read by the heads of each. Its gradient is summed where the
heads begin to differ, so what is before is whole. Each head of the queries is normalised by one weight. Bugs:
kv_inputs: gradients of the weights of keys and values are summed after the backward, that of their input is not.
    https://github.com/bigcode-project/Megatron-LM/pull/36
kv_twice: the input of keys and values is taken from where queries sum their gradients: it is summed once more.
    https://github.com/NVIDIA/Megatron-LM/pull/6839 (first review)
norm_unsummed: the norm's weight sees the heads of one rank only, its gradient is not summed.
    https://github.com/NVIDIA-NeMo/RL/issues/3716"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, WIDTH, HEADS, SIZE, HIDDEN, BATCH, LENGTH, LAYERS = 31, 10, 12, 7, 33, 8, 9, 2


def summed(grad):
    grad = grad.contiguous().clone()
    dist.all_reduce(grad)
    return grad


def sums_gradient(x):
    """x, whose gradient is summed over the ranks, where it has more readers than those of the result, too."""
    x = x.view_as(x)
    if dist.is_initialized() and x.requires_grad:
        x.register_hook(summed)
    return x


def reduced(x):
    """The sum over the ranks; autograd does not see it, and the gradient of the sum is that of each part."""
    if dist.is_initialized():
        dist.all_reduce(x)
    return x


class Attention(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.bug, self.heads = bug, HEADS // tp
        rank = dist.get_rank() if tp > 1 else 0
        self.q = nn.Parameter((torch.randn(HEADS * SIZE, WIDTH) / 3).chunk(tp)[rank].clone())
        self.kv = nn.Parameter(torch.randn(2 * SIZE, WIDTH) / 3)
        self.out = nn.Parameter((torch.randn(WIDTH, HEADS * SIZE) / 5).chunk(tp, 1)[rank].clone())
        self.q_norm, self.k_norm = nn.RMSNorm(SIZE, eps=1e-5), nn.RMSNorm(SIZE, eps=1e-5)
        if tp > 1 and bug != "norm_unsummed":
            self.q_norm.weight.register_hook(summed)  # place norm_unsummed
        self.register_buffer("mask", torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril(), persistent=False)

    def forward(self, x):
        shared = sums_gradient(x)
        q = self.q_norm(F.linear(shared, self.q).unflatten(-1, (self.heads, SIZE)))  # place norm_unsummed
        kv = F.linear(shared if self.bug == "kv_twice" else x, self.kv)  # place kv_twice kv_inputs
        k, v = kv.chunk(2, -1)
        k = self.k_norm(k)
        if self.bug != "kv_inputs":
            k, v = sums_gradient(k), sums_gradient(v)  # place kv_inputs
        scores = torch.einsum("bqhd,bkd->bhqk", q, k) * SIZE ** -0.5  # place kv_inputs
        weights = scores.masked_fill(~self.mask, float("-inf")).softmax(-1)
        mixed = torch.einsum("bhqk,bkd->bqhd", weights, v).flatten(2)  # place kv_inputs
        return reduced(F.linear(mixed, self.out))


class MLP(nn.Module):
    def __init__(self, tp):
        super().__init__()
        rank = dist.get_rank() if tp > 1 else 0
        self.up = nn.Parameter((torch.randn(HIDDEN, WIDTH) / 3).chunk(tp)[rank].clone())
        self.down = nn.Parameter((torch.randn(WIDTH, HIDDEN) / 4).chunk(tp, 1)[rank].clone())

    def forward(self, x):
        return reduced(F.linear(F.gelu(F.linear(sums_gradient(x), self.up)), self.down))


class Model(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.embed, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Parameter(torch.randn(LENGTH, WIDTH) / 2)
        self.attentions = nn.ModuleList(Attention(tp, bug) for _ in range(LAYERS))
        self.mlps = nn.ModuleList(MLP(tp) for _ in range(LAYERS))
        self.norms = nn.ModuleList(nn.RMSNorm(WIDTH, eps=1e-5) for _ in range(2 * LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        x = self.embed(ids) + self.places
        for i, (attention, mlp) in enumerate(zip(self.attentions, self.mlps)):
            x = x + attention(self.norms[2 * i](x))
            x = x + mlp(self.norms[2 * i + 1](x))
        return self.head(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    if args.tp > 1:
        dist.init_process_group("gloo")
    torch.manual_seed(90)
    model = Model(args.tp, args.bug)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, eps=1e-3)
    data = torch.Generator().manual_seed(13)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        optimizer.zero_grad()
        F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten()).backward()
        if args.tp > 1 and args.bug == "kv_inputs":
            for attention in model.attentions:
                for p in (attention.kv, attention.k_norm.weight):
                    dist.all_reduce(p.grad)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
