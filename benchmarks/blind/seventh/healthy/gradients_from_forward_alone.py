"""Forward gradients for a small regression, averaged over some directions."""

import argparse

import torch
from torch import nn
from torch.func import functional_call, jvp

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=150)
args = parser.parse_args()


def forward_gradient(model, x, y, directions):
    parameters = {name: p.detach() for name, p in model.named_parameters()}

    def loss_of(values):
        return nn.functional.mse_loss(functional_call(model, values, (x,)).squeeze(1), y)

    total = {name: torch.zeros_like(p) for name, p in parameters.items()}
    for _ in range(directions):
        tangent = {name: torch.randn_like(p) for name, p in parameters.items()}
        loss, slope = jvp(loss_of, (parameters,), (tangent,))
        for name in total:
            total[name] += slope * tangent[name] / directions
    return loss, total


torch.manual_seed(args.seed)
torch.set_num_threads(1)
x = torch.randn(700, 4)
y = x[:, 0] - 0.5 * x[:, 1] + (x[:, 2] * 1.5).tanh()
model = nn.Sequential(nn.Linear(4, 12), nn.Tanh(), nn.Linear(12, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, betas=(0.9, 0.99))
for step in range(1, args.steps + 1):
    rows = torch.randint(600, (64,))
    loss, gradient = forward_gradient(model, x[rows], y[rows], directions=4)
    for name, p in model.named_parameters():
        p.grad = gradient[name]
    optimizer.step()
    if step % 30 == 0:
        with torch.no_grad():
            error = nn.functional.mse_loss(model(x[600:]).squeeze(1), y[600:]).item()
        print(f"step {step}: loss {loss.item():.4f}, error {error:.4f}")

# SPDX-License-Identifier: Apache-2.0
