"""Dropout begins at nought and rises, label smoothing begins high and falls, noise on inputs comes in phases."""

import argparse
import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F


@dataclass
class Schedule:
    steps: int
    dropout: float = 0.3
    smoothing: float = 0.2

    def at(self, step):
        share = step / self.steps
        return {
            "dropout": self.dropout * (1 - math.exp(-4 * share)) if share > 0.1 else 0.0,
            "smoothing": max(0.0, self.smoothing * (1 - 2 * share)),
            "noise": 0.3 if int(share * 6) % 3 == 1 else 0.0,
        }


def classifier():
    return nn.Sequential(nn.Linear(14, 64), nn.ReLU(), nn.Dropout(0.0), nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.0),
                         nn.Linear(64, 5))


def apply(model, settings):
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = settings["dropout"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    centres = torch.randn(5, 14)
    labels = torch.randint(5, (1500,))
    inputs = centres[labels] + 0.8 * torch.randn(1500, 14)
    model, schedule = classifier(), Schedule(args.steps)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    history = {}
    for step in range(args.steps):
        settings = schedule.at(step)
        apply(model, settings)
        rows = torch.randint(1200, (40,))
        x = inputs[rows]
        if settings["noise"]:
            x = x + settings["noise"] * torch.randn_like(x)
        loss = F.cross_entropy(model(x), labels[rows], label_smoothing=settings["smoothing"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.setdefault("loss", []).append(loss.item())
        if (step + 1) % 50 == 0:
            model.eval()
            with torch.no_grad():
                right = (model(inputs[1200:]).argmax(1) == labels[1200:]).float().mean().item()
            model.train()
            history.setdefault("right", []).append(right)
            shown = ", ".join(f"{k} {v:.3f}" for k, v in settings.items())
            print(f"step {step + 1}: loss {loss.item():.4f}, right {right:.3f}, {shown}")
    width = 40
    for at in range(0, args.steps, max(1, args.steps // 8)):  # a plot for the terminal
        print("#" * int(width * min(1.0, history["loss"][at] / history["loss"][0])))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
