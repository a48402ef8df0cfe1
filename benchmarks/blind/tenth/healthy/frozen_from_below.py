"""Layers are frozen from below, one after the other, each after a cosine of its own to nought; then they run without a graph."""
import argparse
import math

import torch
from sklearn.datasets import load_digits
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.08)
parser.add_argument("--steps", type=int, default=260)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class Stack(nn.Module):
    def __init__(self, depth=5, width=64):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU()) for _ in range(depth))
        self.head = nn.Linear(width, 10)
        self.frozen = 0

    def forward(self, x):
        with torch.no_grad():
            for block in self.blocks[:self.frozen]:
                x = block(x)
        for block in self.blocks[self.frozen:]:
            x = block(x)
        return self.head(x)

    def train(self, mode=True):
        super().train(mode)
        for block in self.blocks[:self.frozen]:
            block.eval()
        return self


x, y = load_digits(return_X_y=True)
x, y = torch.tensor(x, dtype=torch.float32) / 16, torch.tensor(y)
order = torch.randperm(len(x))
train, valid = order[:1400], order[1400:]
model = Stack()
depth = len(model.blocks)
ends = [int(args.steps * (0.4 + 0.6 * (k / depth) ** 3)) for k in range(depth + 1)]
groups = [{"params": list(part.parameters()), "end": end, "base": args.lr * args.steps / end}
          for part, end in zip([*model.blocks, model.head], ends)]
optimizer = torch.optim.SGD(groups, lr=args.lr, momentum=0.9, nesterov=True)
for step in range(args.steps):
    for group in list(optimizer.param_groups):
        if step >= group["end"]:
            for p in group["params"]:
                p.requires_grad_(False)
                p.grad = None
                optimizer.state.pop(p, None)
            optimizer.param_groups.remove(group)
            model.frozen += 1
            model.train()
            print(f"step {step}: {model.frozen} blocks are frozen, {len(optimizer.param_groups)} groups are left")
        else:
            group["lr"] = 0.5 * group["base"] * (1 + math.cos(math.pi * step / group["end"]))
    rows = train[torch.randint(len(train), (64,))]
    loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 65 == 0:
        model.eval()
        with torch.no_grad():
            right = (model(x[valid]).argmax(1) == y[valid]).float().mean().item()
        model.train()
        print(f"step {step + 1}: loss {loss.item():.4f}, validation {right:.4f}")

# SPDX-License-Identifier: Apache-2.0
