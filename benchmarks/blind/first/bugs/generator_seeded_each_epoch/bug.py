"""Shuffling by a generator of its own."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=6)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

x = torch.randn(300, 6)
y = x.prod(1, keepdim=True)
net = nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 1))
opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
orders = set()
for epoch in range(args.steps):
    generator = torch.Generator().manual_seed(args.seed)
    order = torch.randperm(300, generator=generator)
    orders.add(tuple(order.tolist()))
    for rows in order.split(30):
        loss = nn.functional.mse_loss(net(x[rows]), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
print(f"EVIDENCE {len(orders)} different orders in {args.steps} epochs, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
