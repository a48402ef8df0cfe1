"""Attention with rotary positions learns to fetch the word that stood three places before."""

import argparse
import math

import torch
from torch import nn
from torch.nn import functional as F


class Rotary(nn.Module):
    """Angles for a head of the given width, made for rotate_half below."""

    def __init__(self, width, longest=128, base=500.0):
        super().__init__()
        frequencies = base ** (-torch.arange(0, width, 2).float() / width)
        angles = torch.outer(torch.arange(longest).float(), frequencies)
        angles = angles.repeat_interleave(2, dim=-1)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x, start=0):
        stop = start + x.shape[-2]
        return x * self.cos[start:stop] + rotate_half(x) * self.sin[start:stop]


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat([-second, first], dim=-1)


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.rotary = Rotary(width // heads)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width))

    def scores(self, x, start=0):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(self.norm(x)).chunk(3, -1))
        q, k = self.rotary(q, start), self.rotary(k, start)
        return q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), v

    def forward(self, x):
        scores, v = self.scores(x)
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        mixed = scores.masked_fill(future, float("-inf")).softmax(-1) @ v
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class Fetcher(nn.Module):
    def __init__(self, words=16, width=32):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.layers = nn.ModuleList(Layer(width, 2) for _ in range(2))
        self.head = nn.Linear(width, words)

    def forward(self, words):
        x = self.embed(words)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def fetch_loss(model, words, back=3):
    return F.cross_entropy(model(words)[:, back:].flatten(0, 1), words[:, :-back].flatten())


def main(args):
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    model = Fetcher()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min(1.0, (n + 1) / 20))
    longer = torch.randint(16, (64, 60))
    for step in range(1, args.steps + 1):
        words = torch.randint(16, (32, 24))
        loss = fetch_loss(model, words)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 50 == 0:
            with torch.no_grad():
                print(f"step {step}: loss {loss.item():.4f}, on longer texts {fetch_loss(model, longer).item():.4f}")
    with torch.no_grad():
        x = model.embed(longer[:, :20])
        here, there = model.layers[0].scores(x)[0], model.layers[0].scores(x, start=40)[0]
        longest = fetch_loss(model, longer).item()
    moved = ((here - there).abs().mean() / here.std()).item()
    print(f"EVIDENCE scores move by {moved:.5f} when the text begins 40 places later, loss on longer texts {longest:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=240)
    main(parser.parse_args())

# SPDX-License-Identifier: Apache-2.0
