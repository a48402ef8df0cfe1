"""Attention with a mask for each pair of words; a sentence's heads share its mask."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
HEADS, WIDTH, LENGTH = 4, 32, 16


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x, mask):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(2))
        self.head = nn.Linear(WIDTH, 30)

    def forward(self, ids, lengths):
        blocked = torch.arange(LENGTH)[None] >= lengths[:, None]
        mask = blocked[:, None, :].expand(-1, LENGTH, -1)
        mask = mask.repeat_interleave(HEADS, dim=0)
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(x[:, 0])


def batch(n=64):
    """The first word asks for the one that stands twice; behind the end there is noise."""
    lengths = torch.randint(4, LENGTH + 1, (n,))
    ids = torch.stack([torch.randperm(29)[:LENGTH] + 1 for _ in range(n)])
    ids[:, 0] = 0
    wanted = torch.stack([ids[i, torch.randint(1, int(k) - 1, ())] for i, k in enumerate(lengths)])
    ids[torch.arange(n), lengths - 1] = wanted
    keep = torch.arange(LENGTH)[None] < lengths[:, None]
    return torch.where(keep, ids, torch.randint(1, 30, ids.shape)), lengths, wanted


model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for step in range(args.steps):
    ids, lengths, wanted = batch()
    loss = nn.functional.cross_entropy(model(ids, lengths), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

model.eval()
with torch.no_grad():
    ids, lengths, wanted = batch()
    together = model(ids, lengths)
    alone = torch.cat([model(ids[i : i + 1], lengths[i : i + 1]) for i in range(len(ids))])
print(f"EVIDENCE a sentence's answer depends on its batch by {(together - alone).abs().max():.5f}, loss {loss:.3f}")

# Idea from line/lighthouse#77, ArrowLuo/CLIP4Clip#22
# SPDX-License-Identifier: Apache-2.0
