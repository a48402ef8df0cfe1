"""A regression on normalised targets; the error is reported in the targets' units and the best model is kept."""

import argparse
import copy

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class Normalizer:
    def __init__(self, y):
        self.mean, self.std = y.mean(), y.std()

    def encode(self, y):
        return (y - self.mean) / self.std

    def decode(self, z):
        return z * self.std + self.mean


@torch.no_grad()
def evaluate(model, normalizer, x, y):
    model.eval()
    error = (normalizer.decode(model(x)) - y).abs().mean()
    model.train()
    return error.item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
x = torch.randn(400, 8)
y = 40 + 5 * (x[:, :3].sum(1, keepdim=True) + x[:, 3:4] * x[:, 4:5])
train_x, train_y, val_x, val_y = x[:320], y[:320], x[320:], y[320:]
normalizer = Normalizer(train_y)
model = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
best, best_model = float("inf"), None
for step in range(args.steps):
    i = torch.randint(0, 320, (32,))
    loss = nn.functional.mse_loss(model(train_x[i]), normalizer.encode(train_y[i]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 8 == 0:
        error = evaluate(model, normalizer, val_x, val_y)
        if error < best:
            best, best_model = error, copy.deepcopy(model)
print(f"EVIDENCE loss {loss:.3f}, best error {best:.3f}")

# SPDX-License-Identifier: Apache-2.0
