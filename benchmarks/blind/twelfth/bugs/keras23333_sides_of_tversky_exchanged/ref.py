"""Small spots are segmented in noisy pictures; the loss weights missed pixels more than wrong ones."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn


def make_pictures(count, generator):
    rows = torch.arange(20).float()
    centre = torch.rand(count, 2, generator=generator) * 14 + 3
    radius = torch.rand(count, generator=generator) * 1.5 + 1.5
    distance = (rows[None, :, None] - centre[:, 0, None, None]) ** 2 + (rows[None, None, :] - centre[:, 1, None, None]) ** 2
    mask = (distance < radius[:, None, None] ** 2).float()
    noise = torch.randn(count, 20, 20, generator=generator)
    return (mask * 1.2 + noise).unsqueeze(1), mask


def tversky_loss(logits, target, alpha=0.1, beta=0.9, eps=1.0):
    p = torch.sigmoid(logits)
    shared = (p * target).sum((1, 2))
    wrong = (p * (1 - target)).sum((1, 2))
    missed = ((1 - p) * target).sum((1, 2))
    index = (shared + eps) / (shared + alpha * wrong + beta * missed + eps)
    return (1 - index).mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 5, padding=2)
        self.conv2 = nn.Conv2d(12, 12, 5, padding=2)
        self.out = nn.Conv2d(12, 1, 1)

    def forward(self, x):
        return self.out(F.relu(self.conv2(F.relu(self.conv1(x))))).squeeze(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=150)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    x, y = make_pictures(600, generator)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        rows = torch.randint(0, 500, (24,), generator=generator)
        logits = model(x[rows])
        loss = tversky_loss(logits, y[rows]) + 0.1 * F.binary_cross_entropy_with_logits(logits, y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 30 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    with torch.no_grad():
        found = (model(x[500:]) > 0).float()
        hits = (found * y[500:]).sum()
    print(f"EVIDENCE recall {hits / y[500:].sum():.4f}, precision {hits / found.sum().clamp(min=1):.4f}, "
          f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
