"""A sweep over optimizers, rates and widths in one process."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=48)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
x = torch.randn(256, 6)
y = x[:, :2].prod(1, keepdim=True)
results = {}
for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.RMSprop):
    for factor in (0.3, 1.0):
        for width in (16, 48):
            torch.manual_seed(args.seed)
            net = nn.Sequential(nn.Linear(6, width), nn.Tanh(), nn.Linear(width, 1))
            optimizer = kind(net.parameters(), lr=factor * args.lr)
            for step in range(args.steps // 4):
                rows = torch.randint(0, 200, (32,))
                loss = nn.functional.mse_loss(net(x[rows]), y[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                results[kind.__name__, factor, width] = nn.functional.mse_loss(net(x[200:]), y[200:]).item()
best = min(results, key=results.get)
print(f"best {best} {results[best]:.4f}")

# SPDX-License-Identifier: Apache-2.0
