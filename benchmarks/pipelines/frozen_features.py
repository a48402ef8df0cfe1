"""A head on a convolutional backbone that was trained before and stays frozen, its norms in evaluation mode each epoch."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from options import options


def backbone(width):
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
    )  # fmt: skip


def pretrain(features, x, width, lr, steps):
    """Is the digit even?"""
    model = nn.Sequential(features, nn.Linear(4 * width, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    model.train()
    for _ in range(steps):
        rows = torch.randint(600, (48,))
        loss = F.cross_entropy(model(x[0][rows]), x[1][rows] % 2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return features


class Classifier(nn.Module):
    def __init__(self, features, width):
        super().__init__()
        self.features, self.head = features.requires_grad_(False), nn.Linear(4 * width, 10)

    def forward(self, x):
        return self.head(self.features(x))


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def main():
    args = options(lr=5e-3, width=12, steps=45)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    x, y = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16, torch.tensor(digits.target)
    features = pretrain(backbone(args.width), (x, y), args.width, args.lr, args.steps // 3)
    model = Classifier(features, args.width)
    optimizer = torch.optim.Adam(model.head.parameters(), lr=args.lr)
    loader = DataLoader(TensorDataset(x[:720], y[:720]), batch_size=48, shuffle=True)
    for epoch in range(max(1, args.steps // len(loader))):
        model.train()
        model.features.eval()
        for images, labels in loader:
            loss = F.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {accuracy(model, x[720:1200], y[720:1200]):.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
