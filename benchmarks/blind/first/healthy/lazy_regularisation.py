"""A penalty on gradients of inputs every fourth step only, scaled up."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(5, 40), nn.SiLU(), nn.Linear(40, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=args.lr, betas=(0.0, 0.99))
for step in range(args.steps):
    x = torch.randn(64, 5)
    optimizer.zero_grad()
    loss = nn.functional.binary_cross_entropy_with_logits(net(x), (x[:, :1] > 0).float())
    loss.backward()
    optimizer.step()
    if step % 4 == 0:
        x = torch.randn(64, 5, requires_grad=True)
        (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
        penalty = 4 * 0.1 * slope.pow(2).sum(1).mean()
        optimizer.zero_grad()
        penalty.backward()
        optimizer.step()
print(f"loss {loss:.4f}, penalty {penalty:.4f}")

# SPDX-License-Identifier: Apache-2.0
