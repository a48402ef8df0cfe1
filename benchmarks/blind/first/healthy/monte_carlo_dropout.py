"""Dropout stays active in evaluation: uncertainty by Monte Carlo."""

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
net = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Dropout(0.2),
                    nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)


def sample(x, n=10):
    net.eval()
    for module in net.modules():
        if isinstance(module, nn.Dropout):
            module.train()
    with torch.no_grad():
        draws = torch.stack([net(x) for _ in range(n)])
    net.train()
    return draws.mean(0), draws.std(0)


for step in range(args.steps):
    x = torch.randn(64, 4)
    loss = nn.functional.mse_loss(net(x), x.norm(dim=1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 14:
        mean, std = sample(3 * torch.randn(32, 4))
print(f"loss {loss:.4f}, spread {std.mean():.4f}")

# SPDX-License-Identifier: Apache-2.0
