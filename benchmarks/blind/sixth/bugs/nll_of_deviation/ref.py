"""A sensor model with two heads: the mean and the standard deviation of a noisy measurement."""

import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=200)
args = parser.parse_args()


class Sensor(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.mean = nn.Linear(width, 1)
        self.raw = nn.Linear(width, 1)

    def forward(self, x):
        hidden = self.body(x)
        return self.mean(hidden).squeeze(1), nn.functional.softplus(self.raw(hidden)).squeeze(1) + 1e-3


def likelihood(model, x, y):
    mean, deviation = model(x)
    return nn.functional.gaussian_nll_loss(mean, y, deviation.square())


def measure(count):
    x = torch.rand(count, 3) * 4 - 2
    return x, torch.sin(x[:, 0]) + x[:, 1] + 0.2 * torch.exp(0.5 * x[:, 2]) * torch.randn(count)


def report(model, x, y):
    model.eval()
    with torch.no_grad():
        mean, deviation = model(x)
        z = (y - mean) / deviation
    model.train()
    return deviation.mean().item(), z.std().item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
train_x, train_y = measure(3000)
valid_x, valid_y = measure(800)
model = Sensor()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
best = math.inf
for step in range(args.steps):
    index = torch.randint(len(train_x), (64,))
    loss = likelihood(model, train_x[index], train_y[index])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 50 == 49:
        with torch.no_grad():
            best = min(best, likelihood(model, valid_x, valid_y).item())
        print(f"step {step + 1}: loss {loss.item():.4f}, best on validation {best:.4f}")
mean, spread = report(model, valid_x, valid_y)
print(f"EVIDENCE the mean deviation is {mean:.4f}, standardised errors have a deviation of {spread:.4f}")

# SPDX-License-Identifier: Apache-2.0
