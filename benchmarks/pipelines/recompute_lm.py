"""A small language model that keeps no activations: each block is computed again in the backward, dropout included."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from options import options

WORDS, LENGTH = 24, 20


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 4, dropout=0.1, batch_first=True)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * width, width))

    def forward(self, x, mask):
        y = self.before(x)
        x = x + self.attention(y, y, y, attn_mask=mask, need_weights=False)[0]
        return x + self.feed(self.after(x))


class Model(nn.Module):
    def __init__(self, width, depth=3):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, width), nn.Embedding(LENGTH, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.out = nn.Linear(width, WORDS)
        self.register_buffer("mask", torch.full((LENGTH, LENGTH), float("-inf")).triu(1))

    def forward(self, x):
        n = x.size(1)
        x = self.words(x) + self.places(torch.arange(n))
        for block in self.blocks:
            if self.training:
                x = checkpoint(block, x, self.mask[:n, :n], use_reentrant=False)
            else:
                x = block(x, self.mask[:n, :n])
        return self.out(x)


def sentences(n):
    """Words that count up by a step of their own."""
    start, step = torch.randint(WORDS, (n, 1)), torch.randint(1, 4, (n, 1))
    return (start + step * torch.arange(LENGTH + 1)) % WORDS


def loss_of(model, rows):
    return F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())


def main():
    args = options(lr=3e-3, width=32, steps=40)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    model, held_out = Model(args.width), sentences(64)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        model.train()
        loss = loss_of(model, sentences(24))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 10 == 9:
            model.eval()
            with torch.no_grad():
                print(f"step {step}: loss {loss.item():.3f}, held out {loss_of(model, held_out).item():.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
