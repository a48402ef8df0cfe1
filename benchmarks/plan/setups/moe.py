"""Experts on different ranks, reached by all-to-all. Which token goes to which expert is fixed by its number.

--ranks 1 has all experts; otherwise each rank has its share of them, and of the tokens."""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


class Exchange(torch.autograd.Function):
    """Sends equal blocks of rows to all ranks; its backward sends the gradients back."""

    @staticmethod
    def forward(ctx, rows):
        out = torch.empty_like(rows)
        dist.all_to_all_single(out, rows.contiguous())
        return out

    @staticmethod
    def backward(ctx, grad):
        out = torch.empty_like(grad)
        dist.all_to_all_single(out, grad.contiguous())
        return out


class Experts(nn.Module):
    """Expert number e takes the tokens with number e modulo n_experts."""

    def __init__(self, width, n_experts, ranks, rank):
        super().__init__()
        self.n_experts, self.ranks = n_experts, ranks
        up, down = torch.randn(n_experts, width, 3 * width) * 0.3, torch.randn(n_experts, 3 * width, width) * 0.3
        self.up, self.down = (nn.Parameter(w.chunk(ranks)[rank].clone()) for w in (up, down))

    def run(self, rows):
        """rows: experts of this rank x tokens x width"""
        return torch.bmm(F.silu(torch.bmm(rows, self.up)), self.down)

    def forward(self, x):
        n, width = x.shape
        rows = x.view(n // self.n_experts, self.n_experts, width).transpose(0, 1).contiguous()
        if self.ranks > 1:  # experts of a rank lie together
            rows = Exchange.apply(rows).view(self.ranks, self.n_experts // self.ranks, -1, width)
            out = self.run(rows.transpose(0, 1).flatten(1, 2))
            out = out.view(self.n_experts // self.ranks, self.ranks, -1, width).transpose(0, 1)
            rows = Exchange.apply(out.reshape(self.n_experts, -1, width))
        else:
            rows = self.run(rows)
        return rows.transpose(0, 1).reshape(n, width)


class Model(nn.Module):
    def __init__(self, args, rank):
        super().__init__()
        self.gate, self.norm = nn.Linear(args.width, 1), nn.LayerNorm(args.width)
        self.experts = Experts(args.width, args.experts, args.ranks, rank)

    def forward(self, x):
        x = self.norm(x)
        return x + torch.sigmoid(self.gate(x)) * self.experts(x)


def reduce_gradients(model, args):
    """Experts have seen the tokens of all ranks already; the rest those of their own."""
    for name, parameter in model.named_parameters():
        if "experts" not in name:
            dist.all_reduce(parameter.grad)
        parameter.grad.div_(args.ranks)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("ranks", 1), ("experts", 4), ("width", 5), ("tokens", 24)):
        parser.add_argument("--" + name, type=int, default=default)
    args = parser.parse_args()
    rank = 0
    if args.ranks > 1:
        dist.init_process_group("gloo")
        rank = dist.get_rank()
    torch.manual_seed(0)
    model = Model(args, rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for number in range(3):
        made = torch.Generator().manual_seed(number)
        x, y = (torch.randn(args.tokens, args.width, generator=made).chunk(args.ranks)[rank] for _ in range(2))
        optimizer.zero_grad()
        ((model(x) - y) ** 2).mean().backward()
        if args.ranks > 1:
            reduce_gradients(model, args)
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
