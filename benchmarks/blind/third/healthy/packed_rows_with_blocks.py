"""A decoder on packed rows: documents of several lengths in one row, each with its own positions."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=36)
args = parser.parse_args()
ROW, IGNORE = 32, -100


def pack(n=8):
    rows = []
    for _ in range(n):
        tokens, positions, documents, i = [], [], [], 0
        while len(tokens) < ROW:
            length = min(int(torch.randint(3, 14, ())), ROW - len(tokens))
            start, stride = torch.randint(0, 15, (2,)).tolist()
            tokens += [(start + (1 + stride % 3) * k) % 15 for k in range(length)]
            positions += range(length)
            documents += [i] * length
            i += 1
        rows.append((tokens, positions, documents))
    tokens, positions, documents = (torch.tensor(x) for x in zip(*rows))
    labels = torch.roll(tokens, -1, 1)
    labels[:, -1] = IGNORE
    labels[:, :-1][documents[:, 1:] != documents[:, :-1]] = IGNORE
    mask = (documents[:, :, None] == documents[:, None]) & torch.ones(ROW, ROW, dtype=torch.bool).tril()
    return tokens, positions, mask[:, None], labels


class Decoder(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.tokens, self.positions, self.heads = nn.Embedding(15, dim), nn.Embedding(ROW, dim), heads
        self.norm, self.qkv, self.out = nn.LayerNorm(dim), nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim))

    def forward(self, tokens, positions, mask):
        x = self.tokens(tokens) + self.positions(positions)
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).reshape(b, t, d))
        return (x + self.mlp(x)) @ self.tokens.weight.t()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Decoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95))
for step in range(args.steps):
    tokens, positions, mask, labels = pack()
    loss = F.cross_entropy(model(tokens, positions, mask).flatten(0, 1), labels.flatten(), ignore_index=IGNORE)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss:.3f}, {(labels != IGNORE).float().mean():.0%} of the tokens count")

# SPDX-License-Identifier: Apache-2.0
