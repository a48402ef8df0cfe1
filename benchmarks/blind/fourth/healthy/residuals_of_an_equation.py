"""A network solves a differential equation: losses of its derivatives, new points in each step, L-BFGS at the end."""

import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()


def derivative(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


def residual(model, x):
    """u'' + u' = f for u = sin(pi x)."""
    x = x.requires_grad_()
    u = model(x)
    first = derivative(u, x)
    f = -math.pi ** 2 * torch.sin(math.pi * x) + math.pi * torch.cos(math.pi * x)
    return derivative(first, x) + first - f


def loss_of(model, x, weight):
    edge = torch.tensor([[0.0], [1.0]])
    return residual(model, x).pow(2).mean() + weight * model(edge).pow(2).mean()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
weight = 1.0
for step in range(args.steps):
    x = torch.rand(64, 1)
    loss = loss_of(model, x, weight)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:  # the weight of the edges follows the ratio of both parts' gradients
        inner = torch.autograd.grad(residual(model, torch.rand(64, 1)).pow(2).mean(), model[0].weight)[0].abs().max()
        edge = torch.autograd.grad(model(torch.tensor([[0.0], [1.0]])).pow(2).mean(), model[0].weight)[0].abs().mean()
        weight = 0.7 * weight + 0.3 * min(100.0, (inner / (edge + 1e-6)).item())
        print(f"step {step}: loss {loss.item():.3f}, weight of the edges {weight:.2f}")
points = torch.linspace(0, 1, 64)[:, None]
last = torch.optim.LBFGS(model.parameters(), max_iter=12, line_search_fn="strong_wolfe")


def closure():
    last.zero_grad()
    loss = loss_of(model, points.clone(), weight)
    loss.backward()
    return loss


for _ in range(3):
    loss = last.step(closure)
with torch.no_grad():
    error = (model(points) - torch.sin(math.pi * points)).abs().max()
print(f"loss {loss.item():.4f}, largest error {error:.4f}")

# SPDX-License-Identifier: Apache-2.0
