"""Twelve residual blocks that were pretrained are fine-tuned, the first two stay frozen."""

import argparse
import copy

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fc1, self.fc2 = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        return x + self.fc2(F.gelu(self.fc1(self.norm(x)))) / 3


class Backbone(nn.Module):
    def __init__(self, width=24, depth=12, classes=8):
        super().__init__()
        self.stem = nn.Linear(16, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


FROZEN = ("stem.", "blocks.0.", "blocks.1.")


def freeze(model, prefixes=FROZEN):
    for name, parameter in model.named_parameters():
        if name.startswith(prefixes):
            parameter.requires_grad = False
    return [p for p in model.parameters() if p.requires_grad]


def fit(model, parameters, lr, steps, draw, name):
    optimizer = torch.optim.AdamW(parameters, lr=lr)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=lr, total_steps=steps)
    for step in range(1, steps + 1):
        x, y = draw(64)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 25 == 0:
            with torch.no_grad():
                x, y = draw(500)
                right = (model(x).argmax(1) == y).float().mean().item()
            print(f"{name}, step {step}: loss {loss.item():.4f}, right {right:.3f}, rate {schedule.get_last_lr()[0]:.5f}")


def task(classes, spread):
    centres = torch.randn(classes, 16)

    def draw(size):
        y = torch.randint(classes, (size,))
        return centres[y] + spread * torch.randn(size, 16), y

    return draw


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    model = Backbone()
    fit(model, model.parameters(), args.lr, args.steps // 2, task(8, 0.8), "pretraining")
    model.head = nn.Linear(24, 5)
    before = copy.deepcopy(model.state_dict())
    fit(model, freeze(model), args.lr, args.steps - args.steps // 2, task(5, 0.8), "fine-tuning")
    moved = [i for i, b in enumerate(model.blocks) if not torch.equal(b.fc1.weight, before[f"blocks.{i}.fc1.weight"])]
    print(f"EVIDENCE fine-tuning changed blocks {moved}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
