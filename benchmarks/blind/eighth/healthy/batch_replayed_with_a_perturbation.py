"""Each batch is used four times; between the uses a perturbation of the inputs grows along their own gradient."""

import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=320)
args = parser.parse_args()
REPLAYS, RADIUS = 4, 0.08


def attack(model, x, y, rounds=3):
    """For validation: gradients of the inputs only."""
    noisy = x.clone()
    for _ in range(rounds):
        noisy.requires_grad_(True)
        gradient, = torch.autograd.grad(F.cross_entropy(model(noisy), y), noisy)
        noisy = x + (noisy.detach() + RADIUS * gradient.sign() - x).clamp(-RADIUS, RADIUS)
    return noisy


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        right = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return right


torch.manual_seed(args.seed)
torch.set_num_threads(1)
digits = load_digits()
x, y = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16, torch.tensor(digits.target)
order = torch.randperm(len(x))
x, y = x[order], y[order]
loader = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=50, shuffle=True)
model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                      nn.Linear(256, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True)
delta = torch.zeros(50, 1, 8, 8)  # is carried over from batch to batch
step, epoch = 0, 0
while step < args.steps:
    epoch += 1
    for inputs, labels in loader:
        for _ in range(REPLAYS):
            noise = delta[:len(inputs)].clone().requires_grad_(True)
            loss = F.cross_entropy(model((inputs + noise).clamp(0, 1)), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            delta[:len(inputs)] = (noise.detach() + RADIUS * noise.grad.sign()).clamp(-RADIUS, RADIUS)
            step += 1
        if step >= args.steps:
            break
    model.eval()
    hard = attack(model, x[1400:], y[1400:])
    print(f"epoch {epoch}, step {step}: loss {loss.item():.4f}, right {accuracy(model, x[1400:], y[1400:]):.3f}, "
          f"attacked {accuracy(model, hard, y[1400:]):.3f}")

# SPDX-License-Identifier: Apache-2.0
