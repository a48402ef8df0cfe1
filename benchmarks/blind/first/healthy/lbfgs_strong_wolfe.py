"""L-BFGS evaluates its closure many times a step, full batch."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.8)
parser.add_argument("--steps", type=int, default=20)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
x = torch.randn(200, 6)
y = torch.sin(x[:, :1]) + 0.1 * x[:, 1:2]
net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.LBFGS(net.parameters(), lr=args.lr, max_iter=5, line_search_fn="strong_wolfe")
calls = 0


def closure():
    global calls
    calls += 1
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(x), y) + 1e-4 * sum(p.pow(2).sum() for p in net.parameters())
    loss.backward()
    return loss


for step in range(args.steps):
    loss = optimizer.step(closure)
print(f"{calls} evaluations, loss {loss:.5f}")

# SPDX-License-Identifier: Apache-2.0
