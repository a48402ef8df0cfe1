"""Handwritten digits whose brightness is changed at random in training."""
import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

MEAN, STD = 0.305, 0.376


def brighten(x, generator):
    factor = 0.7 + 0.6 * torch.rand(len(x), 1, 1, 1, generator=generator)
    return (x * factor).clamp(0, 1)


def normalise(x):
    return (x - MEAN) / STD


def prepare(x, training, generator):
    x = normalise(x)
    if training:
        x = brighten(x, generator)
    return x


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=240)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    y = torch.tensor(digits.target)
    order = torch.randperm(len(x), generator=generator)
    x, y = x[order], y[order]
    model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1),
                          nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr * 10, momentum=0.9)
    for step in range(args.steps):
        rows = torch.randint(0, 1300, (32,), generator=generator)
        inputs = prepare(x[rows], True, generator)
        loss = F.cross_entropy(model(inputs), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 59:
            with torch.no_grad():
                logits = model(prepare(x[1300:], False, generator))
                valid = F.cross_entropy(logits, y[1300:])
                right = (logits.argmax(1) == y[1300:]).float().mean()
            print(f"step {step + 1}: loss {loss.item():.4f}, validation {valid.item():.4f}")
    print(f"EVIDENCE least training input {inputs.min():.4f}, validation loss {valid.item():.4f}, right {right:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
