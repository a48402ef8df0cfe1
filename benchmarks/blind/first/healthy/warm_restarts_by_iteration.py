"""A schedule that is given fractions of epochs and raises the rate again."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=7)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(8, 48), nn.Tanh(), nn.Linear(48, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, nesterov=True)
scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=1, T_mult=2)
x = torch.randn(400, 8)
for epoch in range(args.steps):
    for i, rows in enumerate(torch.randperm(400).split(40)):
        loss = nn.functional.mse_loss(net(x[rows]), x[rows, :2].prod(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step(epoch + i / 10)
print(f"rate {scheduler.get_last_lr()[0]:.4f}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
