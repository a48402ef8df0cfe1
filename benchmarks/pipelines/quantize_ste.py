"""Training with quantised weights: a straight-through estimator as autograd Function, with and without autocast."""

import contextlib

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

from options import options


class RoundSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        return torch.clamp(torch.round(x / scale), -8, 7) * scale

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class QuantLinear(nn.Linear):
    def forward(self, x):
        scale = self.weight.detach().abs().max() / 7
        return F.linear(x, RoundSTE.apply(self.weight, scale), self.bias)


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(
            QuantLinear(64, width), nn.BatchNorm1d(width), nn.Hardtanh(),
            QuantLinear(width, width), nn.BatchNorm1d(width), nn.Hardtanh(), nn.Dropout(0.1),
        )  # fmt: skip
        self.out = nn.Linear(width, 10)

    def forward(self, x):
        return self.out(self.body(x))


def fit(model, loader, optimizer, epochs, context):
    for epoch in range(epochs):
        model.train()
        for x, y in loader:
            with context():
                loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return loss.item()


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


def main():
    args = options(lr=4e-3, width=48, steps=48)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    x, y = torch.tensor(digits.data, dtype=torch.float32) / 8 - 1, torch.tensor(digits.target)
    loader = DataLoader(TensorDataset(x[:1440], y[:1440]), batch_size=120, shuffle=True)
    model = Net(args.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    half = max(1, args.steps // len(loader) // 2)
    first = fit(model, loader, optimizer, half, contextlib.nullcontext)
    print(f"float32: loss {first:.3f}, accuracy {accuracy(model, x[1440:], y[1440:]):.3f}")
    second = fit(model, loader, optimizer, half, lambda: torch.autocast("cpu", dtype=torch.bfloat16))
    print(f"bfloat16: loss {second:.3f}, accuracy {accuracy(model, x[1440:], y[1440:]):.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
