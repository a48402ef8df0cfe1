"""Errors of a group must stay under a bound: a multiplier rises while they do not, by ascent every fifth step, and rests at nought."""
import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=400)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
BOUND = 0.25
group = (torch.rand(3000) < 0.15).long()
x = torch.randn(3000, 6)
weight = torch.stack([torch.randn(6), torch.randn(6)])
y = ((x * weight[group]).sum(1) + 0.3 * torch.randn(3000) > 0).float()
inputs = torch.cat([x, group[:, None].float()], 1)
model = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 1))
multiplier = nn.Parameter(torch.zeros(()))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
ascent = torch.optim.SGD([multiplier], lr=0.5, maximize=True)
recent = []
for step in range(1, args.steps + 1):
    rows = torch.randint(2400, (64,))
    losses = nn.functional.binary_cross_entropy_with_logits(model(inputs[rows]).squeeze(1), y[rows], reduction="none")
    small = group[rows] == 1
    loss = losses[~small].mean()
    if small.any():
        excess = losses[small].mean() - BOUND
        recent.append(excess.item())
        if multiplier.item() > 0:
            loss = (loss + multiplier.detach() * excess) / (1 + multiplier.detach())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0 and recent:
        ascent.zero_grad()
        (multiplier * (sum(recent) / len(recent))).backward()
        ascent.step()
        with torch.no_grad():
            multiplier.clamp_(min=0)
        recent.clear()
    if step % 80 == 0:
        print(f"step {step}: loss {loss.item():.4f}, multiplier {multiplier.item():.4f}")
with torch.no_grad():
    losses = nn.functional.binary_cross_entropy_with_logits(model(inputs[2400:]).squeeze(1), y[2400:], reduction="none")
print(f"validation: large group {losses[group[2400:] == 0].mean().item():.4f}, small group {losses[group[2400:] == 1].mean().item():.4f}")

# SPDX-License-Identifier: Apache-2.0
