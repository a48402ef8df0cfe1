"""SimCLR on vectors: the two views of a sample are to find each other."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=90)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


def nt_xent(first, second, temperature=0.5):
    z = F.normalize(torch.cat([first, second]), dim=1)
    n = len(first)
    logits = z @ z.T / temperature
    logits = logits.masked_fill(torch.eye(2 * n, dtype=torch.bool), float("-inf"))
    return F.cross_entropy(logits, torch.arange(2 * n).roll(n)), logits


encoder = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 16))
optimizer = torch.optim.AdamW(encoder.parameters(), lr=args.lr)
for step in range(args.steps):
    x = torch.randn(48, 6) @ torch.ones(6, 24).tril() / 2
    loss, logits = nt_xent(encoder(x + 0.3 * torch.randn_like(x)), encoder(x + 0.3 * torch.randn_like(x)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
itself = logits.softmax(1).diag().mean()
print(f"EVIDENCE a sample takes itself with probability {itself:.4f}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
