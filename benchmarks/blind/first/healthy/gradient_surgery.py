"""Gradients of two tasks are projected on each other and written into `.grad`."""

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
shared = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 16), nn.ReLU())
heads = nn.ModuleList([nn.Linear(16, 1), nn.Linear(16, 1)])
params = [*shared.parameters(), *heads.parameters()]
optimizer = torch.optim.Adam(params, lr=args.lr)


def flat(loss):
    grads = torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True)
    return torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for p, g in zip(params, grads)])


for step in range(args.steps):
    x = torch.randn(64, 10)
    features = shared(x)
    losses = [nn.functional.mse_loss(heads[0](features), x[:, :1]), nn.functional.mse_loss(heads[1](features), -2 * x[:, :1])]
    a, b = map(flat, losses)
    dot = a @ b
    if dot < 0:
        a, b = a - dot / b.pow(2).sum() * b, b - dot / a.pow(2).sum() * a
    joined, i = a + b, 0
    for p in params:
        p.grad = joined[i : i + p.numel()].view_as(p).clone()
        i += p.numel()
    optimizer.step()
print(f"losses {losses[0]:.4f} {losses[1]:.4f}")

# SPDX-License-Identifier: Apache-2.0
