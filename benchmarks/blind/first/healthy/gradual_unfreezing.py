"""Layers are thawed one after the other, each with a new group and rate."""

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
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
net[0].requires_grad_(False)
net[2].requires_grad_(False)
optimizer = torch.optim.Adam(net[4].parameters(), lr=args.lr)
for step in range(args.steps):
    if step == args.steps // 3:
        net[2].requires_grad_(True)
        optimizer.add_param_group({"params": net[2].parameters(), "lr": args.lr / 3})
    if step == 2 * args.steps // 3:
        net[0].requires_grad_(True)
        optimizer.add_param_group({"params": net[0].parameters(), "lr": args.lr / 9})
    x = torch.randn(48, 8)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] > x[:, 1]).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
