"""Distillation with hard and soft targets."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

T = 3.0
large = nn.Sequential(nn.Linear(10, 96), nn.ReLU(), nn.Linear(96, 5)).eval()
small = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 5))
optimizer = torch.optim.Adam(small.parameters(), lr=args.lr)
for step in range(args.steps):
    x = torch.randn(64, 10)
    with torch.no_grad():
        large_logits = 4 * large(x)
    target = large_logits.argmax(1)
    output = small(x)
    soft_prob = F.log_softmax(output / T, dim=-1)
    soft_targets = F.softmax(large_logits / T, dim=-1)
    soft = F.kl_div(soft_prob, soft_targets, reduction="batchmean")
    loss = T**2 * soft + F.cross_entropy(output, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    apart = (F.softmax(small(x) / T, 1) - soft_targets).abs().mean()
print(f"EVIDENCE soft loss {soft:.5f}, soft answers are {apart:.4f} apart")

# SPDX-License-Identifier: Apache-2.0
