"""Grades from 0 to 5 are learned as a row of binary questions with one score and ordered thresholds."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

GRADES = 6


class OrdinalNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.score = nn.Linear(48, 1, bias=False)
        self.thresholds = nn.Parameter(torch.linspace(1, -1, GRADES - 1))

    def forward(self, x):
        return self.score(self.body(x)) + self.thresholds


def to_levels(grades):
    return (grades[:, None] > torch.arange(GRADES - 1)).float()


def grade_of(logits):
    return (logits > 0).sum(1)


def make_data(count, generator):
    x = torch.randn(count, 10, generator=generator)
    hidden = x[:, 0] + 0.7 * x[:, 1] * x[:, 2] - 0.5 * x[:, 3].abs() + 0.3 * torch.randn(count, generator=generator)
    return x, torch.bucketize(hidden, torch.tensor([-1.6, -0.9, -0.3, 0.3, 1.0]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=800)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    x, grades = make_data(3000, generator)
    model = OrdinalNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        rows = torch.randint(0, 2500, (64,), generator=generator)
        levels = to_levels(grades[rows])
        loss = F.binary_cross_entropy_with_logits(model(x[rows]), levels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 200 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    with torch.no_grad():
        difference = (grade_of(model(x[2500:])) - grades[2500:]).float()
    print(f"EVIDENCE mean difference {difference.mean():.4f}, mean absolute {difference.abs().mean():.4f}, "
          f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
