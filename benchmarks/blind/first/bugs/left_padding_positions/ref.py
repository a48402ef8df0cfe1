"""A decoder on prompts that are padded on the left: a position is the number of words before."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=90)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

LENGTH, WORDS = 16, 24


class Decoder(nn.Module):
    def __init__(self, dim=40):
        super().__init__()
        self.word, self.position = nn.Embedding(WORDS, dim), nn.Embedding(LENGTH, dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, WORDS)

    def forward(self, ids):
        real = ids != 0
        places = (real.long().cumsum(1) - 1).clamp(min=0)
        x = self.word(ids) + self.position(places)
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        allowed = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril() & real[:, None, :] | torch.eye(LENGTH, dtype=torch.bool)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, attn_mask=allowed))
        return self.head(x)


def prompts(n):
    start, lengths = torch.randint(1, WORDS, (n, 1)), torch.randint(4, LENGTH + 1, (n, 1))
    steps = torch.arange(LENGTH) - (LENGTH - lengths)
    return torch.where(steps >= 0, 1 + (start + steps * steps) % (WORDS - 1), 0)


model = Decoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(args.steps):
    ids = prompts(32)
    targets = torch.cat([ids[:, 1:], torch.zeros(32, 1, dtype=torch.long)], 1)
    loss = F.cross_entropy(model(ids).flatten(0, 1), targets.flatten(), ignore_index=0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    row = prompts(1)
    row[:, :6] = 0
    moved = torch.roll(row, -3, 1)
    moved[:, -3:] = 0
    drift = (model(row)[0, 12] - model(moved)[0, 9]).abs().max()
print(f"EVIDENCE three words of padding more change an answer by {drift:.4f}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
