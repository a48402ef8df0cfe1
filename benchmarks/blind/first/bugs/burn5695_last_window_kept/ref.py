"""Accumulation over three batches where an epoch has ten."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=8)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

x = torch.randn(320, 12)
y = (x[:, :3].prod(1) + x[:, 5]).unsqueeze(1)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
net = nn.Sequential(nn.Linear(12, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
accumulate, updates, left = 3, 0, 0.0
for epoch in range(args.steps):
    net.train()
    optimizer.zero_grad()
    for i, (features, target) in enumerate(loader):
        loss = nn.functional.mse_loss(net(features), target) / accumulate
        loss.backward()
        if (i + 1) % accumulate == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
            updates += 1
    grads = [p.grad for p in net.parameters() if p.grad is not None]
    left = max(left, sum(float(g.abs().sum()) for g in grads))
    net.eval()
    with torch.no_grad():
        held = nn.functional.mse_loss(net(x[:64]), y[:64])
print(f"EVIDENCE updates {updates}, gradient left at the end of an epoch {left:.4f}, loss {held:.4f}")

# SPDX-License-Identifier: Apache-2.0
