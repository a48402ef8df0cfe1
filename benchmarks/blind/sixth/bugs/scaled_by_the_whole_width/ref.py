"""Retrieval with eight heads of attention: the value that stands with the asked key has to be found."""

import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.width = heads, width // heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)
        self.scale = 1 / math.sqrt(self.width)
        self.entropy = 0.0

    def split(self, x):
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def forward(self, asked, stored):
        q, k, v = self.split(self.query(asked)), self.split(self.key(stored)), self.split(self.value(stored))
        weights = (q @ k.transpose(-1, -2) * self.scale).softmax(-1)
        self.entropy = -(weights * weights.clamp(min=1e-9).log()).sum(-1).mean().item()
        return self.out((weights @ v).transpose(1, 2).flatten(2))


class Memory(nn.Module):
    def __init__(self, keys=16, values=8, width=64):
        super().__init__()
        self.keys, self.values = nn.Embedding(keys, width), nn.Embedding(values, width)
        self.attention = Attention(width, 8)
        self.head = nn.Linear(width, values)

    def forward(self, keys, values, asked):
        stored = self.keys(keys) + self.values(values)
        return self.head(self.attention(self.keys(asked)[:, None], stored)).squeeze(1)


def tables(count):
    keys = torch.stack([torch.randperm(16)[:10] for _ in range(count)])
    values = torch.randint(8, keys.shape)
    place = torch.randint(10, (count,))
    row = torch.arange(count)
    return keys, values, keys[row, place], values[row, place]


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    model = Memory()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    entropies = []
    for step in range(1, args.steps + 1):
        keys, values, asked, answer = tables(64)
        loss = nn.functional.cross_entropy(model(keys, values, asked), answer)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        entropies.append(model.attention.entropy)
        if step % 30 == 0:
            print(f"step {step}: loss {loss.item():.4f}, entropy {entropies[-1]:.3f}")
    print(f"EVIDENCE loss {loss.item():.4f}, mean entropy of attention {sum(entropies) / len(entropies):.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
