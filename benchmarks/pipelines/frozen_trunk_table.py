"""Regression on a table: a trunk with norms, loaded from a file, frozen for good by a `train()` of its own; quantiles as targets."""

import io

import torch
from sklearn.datasets import load_diabetes
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from options import options

QUANTILES = torch.tensor([0.1, 0.5, 0.9])


class Trunk(nn.Sequential):
    def __init__(self, width):
        super().__init__(nn.Linear(10, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU())


class Model(nn.Module):
    def __init__(self, trunk, width):
        super().__init__()
        self.trunk = trunk.eval()
        self.trunk.requires_grad_(False)
        self.out = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, len(QUANTILES)))

    def train(self, mode=True):
        super().train(mode)
        self.trunk.eval()
        return self

    def forward(self, x):
        with torch.no_grad():
            x = self.trunk(x)
        return self.out(x)


def pinball(predicted, y):
    error = y[:, None] - predicted
    return torch.maximum(QUANTILES * error, (QUANTILES - 1) * error).mean()


def checkpoint_of_a_trunk(x, y, args):
    """Trained on the mean, kept as bytes."""
    trunk = Trunk(args.width)
    model = nn.Sequential(trunk, nn.Linear(args.width, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for _ in range(args.steps // 2):
        loss = nn.functional.mse_loss(model(x)[:, 0], y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    file = io.BytesIO()
    torch.save(trunk.state_dict(), file)
    file.seek(0)
    return file


def main():
    args = options(lr=5e-3, width=24, steps=60)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    data = load_diabetes()
    x, y = torch.tensor(data.data, dtype=torch.float32) * 20, torch.tensor(data.target, dtype=torch.float32) / 100
    trunk = Trunk(args.width)
    trunk.load_state_dict(torch.load(checkpoint_of_a_trunk(x[:300], y[:300], args)))
    model = Model(trunk, args.width)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=args.lr, momentum=0.9)
    loader = DataLoader(TensorDataset(x[:320], y[:320]), batch_size=32, shuffle=True)
    for epoch in range(max(1, args.steps // len(loader))):
        model.train()
        for rows, wanted in loader:
            loss = pinball(model(rows), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            print(f"epoch {epoch}: loss {loss.item():.3f}, held out {pinball(model(x[320:]), y[320:]).item():.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
