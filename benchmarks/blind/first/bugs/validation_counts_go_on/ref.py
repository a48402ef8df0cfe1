"""A rate is halved when validation does not improve."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=10)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

x = torch.randn(600, 8)
y = (x[:, 0] * x[:, 1] > 0).long()
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="max", factor=0.5, patience=0)
correct, total = torch.zeros(()), torch.zeros(())
for epoch in range(args.steps):
    net.train()
    for rows in torch.randperm(400).split(50):
        loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    correct, total = torch.zeros(()), torch.zeros(())
    with torch.no_grad():
        for rows in torch.arange(400, 600).split(50):
            correct += (net(x[rows]).argmax(1) == y[rows]).sum()
            total += len(rows)
    plateau.step(correct / 200)
print(f"EVIDENCE accuracy {correct / 200:.3f}, the rate ends at {plateau.get_last_lr()[0]:.5f}")

# SPDX-License-Identifier: Apache-2.0
