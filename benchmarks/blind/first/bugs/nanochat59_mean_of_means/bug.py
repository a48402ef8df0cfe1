"""Accumulation over micro-batches with unequal numbers of words to learn."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

ACCUMULATE = 4
model = nn.Sequential(nn.Embedding(50, 32), nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 50))
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
successor = torch.randperm(50)


def micro_batch():
    ids = torch.randint(0, 50, (8, 20))
    targets = successor[ids]
    lengths = torch.randint(1, 21, (8, 1)) if torch.rand(()) < 0.5 else torch.randint(1, 4, (8, 1))
    return ids, targets.masked_fill(torch.arange(20) >= lengths, -100)


for step in range(args.steps):
    batches = [micro_batch() for _ in range(ACCUMULATE)]
    tokens = sum((targets != -100).sum() for _, targets in batches)
    optimizer.zero_grad()
    weights = []
    for ids, targets in batches:
        loss = F.cross_entropy(model(ids).flatten(0, 1), targets.flatten(), reduction="mean") / ACCUMULATE
        loss.backward()
        weights.append((loss.item(), (targets != -100).sum().item()))
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
shares = [w / n for w, n in weights]
print(f"EVIDENCE a word of one micro-batch weighs up to {max(shares) / min(shares):.1f} times one of another")

# SPDX-License-Identifier: Apache-2.0
