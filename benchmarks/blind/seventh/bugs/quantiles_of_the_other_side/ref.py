"""Quantiles of a noisy curve are forecast; how many values lie below each is counted."""

import argparse

import torch
from torch import nn

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.01), ("--steps", int, 250)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()
LEVELS = torch.tensor([0.1, 0.5, 0.9])


def pinball(forecast, target):
    error = target[:, None] - forecast
    return torch.maximum(LEVELS * error, (LEVELS - 1) * error).mean()


def curve(count):
    x = torch.rand(count, 1) * 6 - 3
    return x, x.squeeze(1).sin() + (0.2 + 0.3 * x.squeeze(1).abs()) * torch.randn(count)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
x, y = curve(1000)
valid_x, valid_y = curve(800)
model = nn.Sequential(nn.Linear(1, 48), nn.Tanh(), nn.Linear(48, len(LEVELS)))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for step in range(1, args.steps + 1):
    rows = torch.randint(len(x), (64,))
    loss = pinball(model(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        with torch.no_grad():
            below = (valid_y[:, None] < model(valid_x)).float().mean(0).tolist()
        print(f"step {step}: loss {loss.item():.4f}, below {[round(b, 3) for b in below]}")
print(f"EVIDENCE below the forecasts lie {', '.join(f'{b:.4f}' for b in below)} of the values")

# SPDX-License-Identifier: Apache-2.0
