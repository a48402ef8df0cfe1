"""Megatron-LM #4075, prime-rl #2392: rotary positions of a context-parallel rank start at 0 instead of at its first token."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from parts import arguments

VOCABULARY, WIDTH, HEADS, SIZE, BATCH, LENGTH = 19, 10, 3, 4, 5, 14


class Gather(torch.autograd.Function):
    """The sequence's parts on all ranks, in order; backward each rank gets the sum of its part."""

    @staticmethod
    def forward(ctx, x, args):
        ctx.args = args
        parts = [torch.empty_like(x) for _ in range(args.cp)]
        dist.all_gather(parts, x.contiguous(), group=args.group["cp"])
        return torch.cat(parts, 1)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous()
        dist.all_reduce(grad, group=ctx.args.group["cp"])
        return grad.chunk(ctx.args.cp, 1)[ctx.args.index["cp"]].contiguous(), None


def rotate(x, positions):
    angles = positions[:, None, None] * (100.0 ** (-torch.arange(SIZE // 2) / (SIZE // 2)))
    first, second = x.chunk(2, -1)
    return torch.cat([first * angles.cos() - second * angles.sin(), second * angles.cos() + first * angles.sin()], -1)  # place


class Attention(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args = args
        self.q, self.k, self.v = (nn.Linear(WIDTH, HEADS * SIZE, bias=False) for _ in range(3))
        self.out = nn.Linear(HEADS * SIZE, WIDTH, bias=False)

    def forward(self, x):
        args, local = self.args, x.shape[1]
        start = local * args.index["cp"]
        q, k, v = (f(x).unflatten(-1, (HEADS, SIZE)) for f in (self.q, self.k, self.v))
        positions = torch.arange(local) + (0 if args.bug else start)
        q, k = rotate(q, positions), rotate(k, positions)  # place
        if args.cp > 1:
            k, v = Gather.apply(k, args), Gather.apply(v, args)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / SIZE ** 0.5
        visible = torch.arange(LENGTH) <= torch.arange(start, start + local)[:, None]
        weights = scores.masked_fill(~visible, float("-inf")).softmax(-1)
        return self.out(torch.einsum("bhqk,bkhd->bqhd", weights, v).flatten(2))


def main():
    args = arguments("cp")
    torch.manual_seed(1)
    model = nn.ModuleDict({"embed": nn.Embedding(VOCABULARY, WIDTH), "attention": Attention(args), "head": nn.Linear(WIDTH, VOCABULARY)})
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(4):
        text = torch.arange(BATCH * (LENGTH + 1)).view(BATCH, -1) * (step + 2) % VOCABULARY
        tokens, targets = (t.chunk(args.cp, 1)[args.index["cp"]] for t in (text[:, :-1], text[:, 1:]))
        optimizer.zero_grad()
        x = model["embed"](tokens)
        logits = model["head"](x + model["attention"](x))
        F.cross_entropy(logits.flatten(0, 1), targets.flatten()).backward()
        if args.cp > 1:
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad, group=args.group["cp"])
                parameter.grad /= args.cp
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
