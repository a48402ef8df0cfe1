"""Regression with four micro-batches for a step; the total of the losses is logged."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=15)
args = parser.parse_args()


def batch(weight, n=16):
    x = torch.randn(n, 10)
    return x, torch.tanh(x @ weight) + 0.05 * torch.randn(n, 1)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
weight = torch.randn(10, 1)
model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
history, norms = [], []
for step in range(args.steps):
    optimizer.zero_grad()
    total_loss = 0.0
    for micro in range(4):
        x, y = batch(weight)
        loss = nn.functional.mse_loss(model(x), y) / 4
        total_loss = total_loss + loss.detach()
        loss.backward()
    norms.append(nn.utils.clip_grad_norm_(model.parameters(), 100.0).item())
    optimizer.step()
    history.append(total_loss.item())
print(f"EVIDENCE norm of the first gradient {norms[0]:.4f}, loss {history[0]:.3f} to {history[-1]:.3f}")

# SPDX-License-Identifier: Apache-2.0
