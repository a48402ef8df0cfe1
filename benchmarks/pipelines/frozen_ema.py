"""A pretrained backbone that stays frozen, a head that learns, and its moving average for evaluation."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

from options import options


class EMA:
    def __init__(self, model, decay):
        self.model, self.decay = model, decay
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters() if p.requires_grad}
        self.backup = {}

    @torch.no_grad()
    def update(self):
        for name, p in self.model.named_parameters():
            if name in self.shadow:
                self.shadow[name].lerp_(p, 1 - self.decay)

    @torch.no_grad()
    def apply_shadow(self):
        for name, p in self.model.named_parameters():
            if name in self.shadow:
                self.backup[name] = p.detach().clone()
                p.copy_(self.shadow[name])

    @torch.no_grad()
    def restore(self):
        for name, p in self.model.named_parameters():
            if name in self.backup:
                p.copy_(self.backup[name])
        self.backup = {}


def backbone(width):
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
    )  # fmt: skip


class Classifier(nn.Module):
    def __init__(self, features, width, classes):
        super().__init__()
        self.features = features
        self.head = nn.Sequential(nn.Linear(16 * width, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, classes))

    def forward(self, x):
        return self.head(self.features(x))


def fit(model, loader, optimizer, ema=None):
    model.train()
    if ema:
        model.features.eval()
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if ema:
            ema.update()
    return loss.item()


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def main():
    args = options(lr=3e-3, width=8, steps=45)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
    y = torch.tensor(digits.target)
    low, high = y < 5, y >= 5

    source = Classifier(backbone(args.width), args.width, 5)
    loader = DataLoader(TensorDataset(x[low], y[low]), batch_size=64, shuffle=True)
    print(f"pretraining: loss {fit(source, loader, torch.optim.Adam(source.parameters(), lr=args.lr)):.3f}")

    model = Classifier(copy.deepcopy(source.features), args.width, 5)
    for p in model.features.parameters():
        p.requires_grad = False
    xs, ys = x[high], y[high] - 5
    loader = DataLoader(TensorDataset(xs[:700], ys[:700]), batch_size=50, shuffle=True)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=args.lr)
    ema = EMA(model, decay=0.9)
    for epoch in range(max(2, args.steps // len(loader) - 1)):
        loss = fit(model, loader, optimizer, ema)
        raw = evaluate(model, xs[700:], ys[700:])
        ema.apply_shadow()
        averaged = evaluate(model, xs[700:], ys[700:])
        ema.restore()
        print(f"epoch {epoch}: loss {loss:.3f}, accuracy {raw:.3f}, of the average {averaged:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
