"""Megatron-LM #7452, finding 8: the attention sinks are split over the tensor ranks, but not marked so. The norm for
clipping takes them of the first rank only."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from parts import arguments, enter, leave

VOCABULARY, WIDTH, HEADS, SIZE, BATCH, LENGTH = 19, 10, 6, 4, 3, 7


class Attention(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.group, self.heads = args.group.get("tp"), HEADS // args.tp
        inner = self.heads * SIZE
        self.q, self.k, self.v = (nn.Linear(WIDTH, inner, bias=False) for _ in range(3))
        self.out = nn.Linear(inner, WIDTH, bias=False)
        self.sinks = nn.Parameter(torch.zeros(self.heads))
        for layer in (self.q, self.k, self.v, self.out):
            layer.weight.is_split = True
        self.sinks.is_split = not args.bug

    def forward(self, x):
        x = enter(x, self.group)
        q, k, v = (f(x).unflatten(-1, (self.heads, SIZE)).transpose(1, 2) for f in (self.q, self.k, self.v))
        scores = q @ k.transpose(2, 3) * SIZE ** -0.5
        scores = scores.masked_fill(torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1), float("-inf"))
        sinks = self.sinks.view(1, -1, 1, 1).expand(BATCH, -1, LENGTH, 1)
        weights = torch.cat([scores, sinks], -1).softmax(-1)[..., :-1]
        return leave(self.out((weights @ v).transpose(1, 2).flatten(2)), self.group)


def clip(model, args, most=0.5):
    total = torch.zeros(())
    for parameter in model.parameters():
        if getattr(parameter, "is_split", False) or args.index["tp"] == 0:
            total = total + parameter.grad.pow(2).sum()  # place
    if args.tp > 1:
        dist.all_reduce(total, group=args.group["tp"])  # place
    factor = (most / (total.sqrt() + 1e-6)).clamp(max=1.0)  # place
    for parameter in model.parameters():
        parameter.grad.mul_(factor)  # place


def main():
    args = arguments("tp")
    torch.manual_seed(1)
    embed, attention, head = nn.Embedding(VOCABULARY, WIDTH), Attention(args), nn.Linear(WIDTH, VOCABULARY)
    model = nn.ModuleDict({"embed": embed, "attention": attention, "head": head})
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(5):
        text = torch.arange(BATCH * (LENGTH + 1)).view(BATCH, -1) * (step + 2) % VOCABULARY
        optimizer.zero_grad()
        x = embed(text[:, :-1])
        logits = head(x + attention(x))
        F.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten()).backward()
        clip(model, args)
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
