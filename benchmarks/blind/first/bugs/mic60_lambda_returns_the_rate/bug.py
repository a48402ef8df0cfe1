"""Inverse decay of the rate as in domain adaptation."""

import argparse

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
scheduler = LambdaLR(optimizer, lambda n: args.lr * (1 + 0.01 * n) ** -0.75)
for step in range(args.steps):
    x = torch.randn(64, 8)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] * x[:, 1] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
print(f"EVIDENCE the rate ends at {scheduler.get_last_lr()[0]:.6f}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
