"""A small transformer whose matrices are split over tensor ranks, and its batch over data ranks.

    python train.py                                          one device
    torchrun --nproc-per-node 4 train.py --tp 2 --dp 2       four ranks"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

WIDTH, HEADS, HEAD_SIZE, LAYERS, TOKENS, BATCH, LENGTH = 10, 4, 3, 2, 17, 18, 6


class Copy(torch.autograd.Function):
    """The input of a split layer: every rank has it, and each sends back a part of its gradient."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad, group=ctx.group)
        return grad, None


class Sum(torch.autograd.Function):
    """The output of a split layer: each rank has a part of the sum."""

    @staticmethod
    def forward(ctx, x, group):
        x = x.clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class Split:
    """This rank's place in the job."""

    def __init__(self, tp, dp):
        self.tp, self.dp, self.rank, self.tensor, self.data = tp, dp, 0, None, None
        if tp * dp > 1:
            dist.init_process_group("gloo")
            self.rank = dist.get_rank()
            tensor = [dist.new_group(range(i * tp, (i + 1) * tp)) for i in range(dp)]
            data = [dist.new_group(range(j, tp * dp, tp)) for j in range(tp)]
            self.tensor, self.data = tensor[self.rank // tp], data[self.rank % tp]

    def part(self, full, dim):
        return nn.Parameter(full.chunk(self.tp, dim)[self.rank % self.tp].clone())

    def rows(self, batch):
        return batch.chunk(self.dp)[self.rank // self.tp]


class Layer(nn.Module):
    """Attention and MLP; each tensor rank has some of the heads and of the hidden units."""

    def __init__(self, split):
        super().__init__()
        self.split, inner = split, HEADS * HEAD_SIZE
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q, self.k, self.v = (split.part(torch.randn(inner, WIDTH) * 0.3, 0) for _ in range(3))
        self.out = split.part(torch.randn(WIDTH, inner) * 0.3, 1)
        self.up = split.part(torch.randn(4 * WIDTH, WIDTH) * 0.3, 0)
        self.down = split.part(torch.randn(WIDTH, 4 * WIDTH) * 0.3, 1)

    def enter(self, x):
        return Copy.apply(x, self.split.tensor) if self.split.tp > 1 else x

    def leave(self, x):
        return Sum.apply(x, self.split.tensor) if self.split.tp > 1 else x

    def attention(self, x):
        q, k, v = (F.linear(x, w).unflatten(-1, (-1, HEAD_SIZE)).transpose(1, 2) for w in (self.q, self.k, self.v))
        later = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
        weights = (q @ k.transpose(2, 3) / HEAD_SIZE ** 0.5).masked_fill(later, float("-inf")).softmax(-1)
        return F.linear((weights @ v).transpose(1, 2).flatten(2), self.out)

    def mlp(self, x):
        return F.linear(F.gelu(F.linear(x, self.up)), self.down)

    def forward(self, x):
        x = x + self.leave(self.attention(self.enter(self.norm1(x))))
        return x + self.leave(self.mlp(self.enter(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, split):
        super().__init__()
        self.embed = nn.Embedding(TOKENS, WIDTH)
        self.layers = nn.ModuleList(Layer(split) for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, TOKENS)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    split = Split(args.tp, args.dp)
    torch.manual_seed(0)
    model = Model(split)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(args.steps):
        text = split.rows(torch.arange(BATCH * (LENGTH + 1)).view(BATCH, -1) * (step + 3) % TOKENS)
        logits = model(text[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.parameters() if split.dp > 1 else ():
            dist.all_reduce(parameter.grad, group=split.data)
            parameter.grad /= split.dp
        optimizer.step()
        if split.rank == 0 and step % 10 == 9:
            print(f"step {step + 1}: loss {loss:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
