"""A transformer encoder with attention by hand finds the largest of the numbers in a padded list."""

import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
PAD = 0


class Attention(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, mask):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        score = q @ k.transpose(2, 3) / math.sqrt(d // self.heads)
        score = score.masked_fill(mask == 0, -10000)
        return self.out((score.softmax(-1) @ v).transpose(1, 2).reshape(b, t, d))


class Encoder(nn.Module):
    def __init__(self, vocab=20, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.attention = Attention(dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.feed = nn.Sequential(nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim))
        self.head = nn.Linear(dim, vocab)

    def make_pad_mask(self, tokens):
        return (tokens != PAD).unsqueeze(1).unsqueeze(2)

    def forward(self, tokens):
        mask = self.make_pad_mask(tokens)
        x = self.embed(tokens)
        x = self.norm1(x + self.attention(x, mask))
        x = self.norm2(x + self.feed(x))
        return self.head(x[:, 0])


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for step in range(args.steps):
    tokens = torch.randint(1, 20, (32, 12))
    lengths = torch.randint(3, 12, (32, 1))
    tokens = tokens.masked_fill(torch.arange(12) >= lengths, PAD)
    loss = nn.functional.cross_entropy(model(tokens), tokens.max(1).values)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    short = torch.tensor([[3, 7, 5]])
    padded = torch.tensor([[3, 7, 5, 0, 0, 0, 0, 0]])
    change = (model(short) - model(padded)).abs().max()
print(f"EVIDENCE loss {loss:.3f}, padding changes the answer by {change:.4f}")

# Idea from hyunwoongko/transformer#40
# SPDX-License-Identifier: Apache-2.0
