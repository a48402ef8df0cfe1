"""The first word of a row says at which place the answer stands; attention has to fetch it."""

import argparse

import torch
from torch import nn
from torch.nn import functional as F

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.005), ("--steps", int, 150)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()
WORDS, LENGTH = 8, 9


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (layer(x).view(batch, length, self.heads, -1) for layer in (self.query, self.key, self.value))
        scores = torch.einsum("bihd,bjhd->bijh", q, k) * (width // self.heads) ** -0.5
        weights = scores.softmax(dim=2)
        self.total = weights.detach().sum(2)
        return self.out(torch.einsum("bijh,bjhd->bihd", weights, v).reshape(batch, length, width))


class Reader(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, width), nn.Embedding(LENGTH, width)
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.attention = Attention(width, 4)
        self.head = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, WORDS))

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(LENGTH))
        x = x + self.attention(self.norms[0](x))
        return self.head(self.norms[1](x)[:, 0])


def make(count):
    ids = torch.randint(WORDS, (count, LENGTH))
    return ids, ids.gather(1, ids[:, :1] + 1).squeeze(1)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
train, valid = make(2000), make(300)
model = Reader()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(1, args.steps + 1):
    rows = torch.randint(len(train[0]), (64,))
    loss = F.cross_entropy(model(train[0][rows]), train[1][rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        with torch.no_grad():
            right = (model(valid[0]).argmax(1) == valid[1]).float().mean().item()
        print(f"step {step}: loss {loss.item():.4f}, right {right:.3f}")
spread = model.attention.total.std().item()
print(f"EVIDENCE {right:.4f} are right, the sums of a query's weights deviate by {spread:.4f}")

# SPDX-License-Identifier: Apache-2.0
