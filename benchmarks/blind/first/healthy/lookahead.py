"""Slow and fast weights: every five steps the fast ones go half the way back."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
slow = [p.detach().clone() for p in net.parameters()]
for step in range(args.steps):
    x = torch.randn(48, 8)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] * x[:, 1] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        with torch.no_grad():
            for s, p in zip(slow, net.parameters()):
                s += 0.5 * (p - s)
                p.copy_(s)
print(f"loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
