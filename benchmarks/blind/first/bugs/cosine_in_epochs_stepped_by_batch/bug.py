"""A cosine over the whole run, by batches."""

import argparse

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=5)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

x = torch.randn(512, 8)
y = x[:, :2].prod(1, keepdim=True)
net = nn.Sequential(nn.Linear(8, 48), nn.Tanh(), nn.Linear(48, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
batches = 16
scheduler = CosineAnnealingLR(optimizer, T_max=args.steps)
rates = []
for epoch in range(args.steps):
    for rows in torch.randperm(512).split(32):
        loss = nn.functional.mse_loss(net(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        rates.append(scheduler.get_last_lr()[0])
rises = sum(b > a for a, b in zip(rates, rates[1:]))
print(f"EVIDENCE the rate rises {rises} times, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
