"""Transfer: weights of a backbone loaded from a file, frozen with its norms in evaluation mode, later unfrozen."""

import os
import tempfile

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from options import options


class Net(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.Flatten(),
        )  # fmt: skip
        self.head = nn.Linear(16 * width, classes)
        self.frozen = False

    def freeze(self, frozen):
        self.frozen = frozen
        for p in self.backbone.parameters():
            p.requires_grad_(not frozen)

    def train(self, mode=True):
        super().train(mode)
        if self.frozen:
            self.backbone.eval()
        return self

    def forward(self, x):
        return self.head(self.backbone(x))


def epoch(net, loader, optimizer):
    net.train()
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def accuracy(net, x, y):
    net.eval()
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()


def main():
    args = options(lr=5e-3, width=12, steps=40)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
    y = torch.tensor(digits.target)
    even = DataLoader(TensorDataset(x[y % 2 == 0], y[y % 2 == 0] // 2), batch_size=90, shuffle=True)
    xs, ys = x[y % 2 == 1], y[y % 2 == 1] // 2
    odd = DataLoader(TensorDataset(xs[:700], ys[:700]), batch_size=70, shuffle=True)

    source = Net(args.width, 5)
    print(f"source: loss {epoch(source, even, torch.optim.Adam(source.parameters(), lr=args.lr)):.3f}")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "backbone.pt")
        torch.save(source.backbone.state_dict(), path)
        net = Net(args.width, 5)
        net.backbone.load_state_dict(torch.load(path))

    net.freeze(True)
    optimizer = torch.optim.Adam(net.head.parameters(), lr=args.lr)
    epochs = max(2, args.steps // len(odd) - 1)
    for i in range(epochs):
        if i == epochs // 2:
            net.freeze(False)
            optimizer.add_param_group({"params": net.backbone.parameters(), "lr": args.lr / 10})
        loss = epoch(net, odd, optimizer)
        print(f"epoch {i}, frozen {net.frozen}: loss {loss:.3f}, accuracy {accuracy(net, xs[700:], ys[700:]):.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
