"""Warm-up and inverse square root decay for a small text classifier."""

import argparse

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
WARMUP = 12


def noam(step):
    if step < WARMUP:
        return (step + 1) // WARMUP
    return (WARMUP / (step + 1)) ** 0.5


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = nn.Sequential(nn.EmbeddingBag(50, 16), nn.LayerNorm(16), nn.Linear(16, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.05)
scheduler = LambdaLR(optimizer, noam)
rates = []
for step in range(args.steps):
    label = torch.randint(0, 3, (32,))
    words = torch.randint(0, 50, (32, 10))
    words[:, :5] = words[:, :5] % 16 + 16 * label[:, None]
    loss = nn.functional.cross_entropy(model(words), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    rates.append(optimizer.param_groups[0]["lr"])
    scheduler.step()
still = sum(r == 0 for r in rates)
print(f"EVIDENCE {still} steps with a rate of zero, loss {loss:.3f}")

# SPDX-License-Identifier: Apache-2.0
