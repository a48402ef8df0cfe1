"""A convolutional classifier with gradients accumulated over four micro-batches."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=48)
args = parser.parse_args()
ACCUMULATION = 4


def build():
    return nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 4))


def make_data(n=384):
    y = torch.randint(0, 4, (n,))
    x = torch.randn(n, 1, 8, 8) * 0.6
    for i, label in enumerate(y.tolist()):
        r, c = divmod(label, 2)
        x[i, 0, 4 * r:4 * r + 4, 4 * c:4 * c + 4] += 1
    return TensorDataset(x, y)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = build()
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
loader = DataLoader(make_data(), batch_size=8, shuffle=True)
optimizer.zero_grad()
steps, losses = 0, []
for i, (x, y) in enumerate(loader):
    if i == args.steps:
        break
    loss = nn.functional.cross_entropy(model(x), y) / ACCUMULATION
    loss.backward()
    losses.append(loss.item() * ACCUMULATION)
    if (i + 1) % ACCUMULATION == 0:
        optimizer.step()
        optimizer.zero_grad()
        steps += 1
left = sum(p.grad is not None for p in model.parameters())
print(f"EVIDENCE {steps} steps, {left} gradients left over, loss {losses[0]:.3f} to {losses[-1]:.3f}")

# SPDX-License-Identifier: Apache-2.0
