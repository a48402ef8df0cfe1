"""Activities from windows of three sensors, by a small convolutional network."""

import argparse
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


def windows(n):
    """Four activities: frequency and phase between axes tell them apart."""
    label = torch.randint(0, 4, (n,))
    t = torch.linspace(0, 2 * math.pi, 32)
    rate = (1.0 + (label % 2) * 2.0)[:, None]
    lag = (label // 2).float()[:, None] * math.pi / 2
    start = torch.rand(n, 1) * 2 * math.pi
    axes = [(rate * t + start).sin(), (rate * t + start + lag).sin(), torch.zeros(n, 32)]
    return torch.stack(axes, 1) + 0.5 * torch.randn(n, 3, 32), label


class Net(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(3, 16, 5, padding=2), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(16, 32, 5, padding=2), nn.BatchNorm1d(32), nn.ReLU(), nn.AdaptiveAvgPool1d(1),
        )
        self.fc = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, classes))

    def forward(self, x):
        x = self.fc(self.features(x).flatten(1))
        return torch.softmax(x, dim=1)


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        out = model(x)
    model.train()
    return nn.functional.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


def main():
    loader = DataLoader(TensorDataset(*windows(640)), batch_size=32, shuffle=True)
    test = windows(256)
    model = Net()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    step = 0
    while step < args.steps:
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            step += 1
            if step == args.steps:
                break
        print(f"step {step}: loss {loss.item():.3f}, test loss and accuracy", *evaluate(model, *test))
    print("EVIDENCE test loss %.3f, accuracy %.3f" % evaluate(model, *test))


main()

# Idea from jindongwang/Deep-learning-activity-recognition#10, bowang-lab/Transformer-GCN-QA#32
# SPDX-License-Identifier: Apache-2.0
