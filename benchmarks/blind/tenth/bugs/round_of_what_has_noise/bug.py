"""A small regression whose weights live on a grid of eight bits: updates are rounded up or down by chance."""
import argparse

import torch
from sklearn.datasets import make_regression
from torch import nn

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.03)
parser.add_argument("--steps", type=int, default=600)
parser.add_argument("--grid", type=float, default=1 / 64)


def stochastic_round(value):
    """Up with the chance that is the fraction, down otherwise."""
    noise = torch.rand_like(value)
    return torch.round(value + noise)


class LowBitSGD(torch.optim.Optimizer):
    """Weights are whole multiples of the grid all the time; there is no copy of higher precision."""

    def __init__(self, params, lr, grid, momentum=0.9):
        super().__init__(params, dict(lr=lr, grid=grid, momentum=momentum))
        with torch.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    p.copy_(torch.round(p / group["grid"]) * group["grid"])

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                velocity = self.state[p].setdefault("velocity", torch.zeros_like(p))
                velocity.mul_(group["momentum"]).add_(p.grad)
                target = (p - group["lr"] * velocity) / group["grid"]
                levels = stochastic_round(target).clamp(-128, 127)
                p.copy_(levels * group["grid"])


class Net(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.inner = nn.Linear(features, 24)
        self.outer = nn.Linear(24, 1)

    def forward(self, x):
        return self.outer(torch.tanh(self.inner(x))).squeeze(1)


def batches(x, y, size):
    while True:
        for rows in torch.randperm(len(x)).split(size):
            yield x[rows], y[rows]


def main():
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y = make_regression(1500, 10, n_informative=6, noise=5.0, random_state=args.seed)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    y = (y - y[:1200].mean()) / y[:1200].std()
    model = Net(10)
    optimizer = LowBitSGD(model.parameters(), args.lr, args.grid)
    source = batches(x[:1200], y[:1200], 50)
    for step in range(1, args.steps + 1):
        inputs, targets = next(source)
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            with torch.no_grad():
                error = nn.functional.mse_loss(model(x[1200:]), y[1200:]).item()
            print(f"step {step}: loss {loss.item():.4f}, validation {error:.4f}")
    with torch.no_grad():
        error = nn.functional.mse_loss(model(x[1200:]), y[1200:]).item()
        mean = torch.cat([p.flatten() for p in model.parameters()]).mean().item()
    print(f"EVIDENCE validation error {error:.4f}, mean weight {mean:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
