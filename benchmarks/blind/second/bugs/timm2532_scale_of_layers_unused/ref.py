"""Fine-tuning with rates that fall from the head to the first layer."""

import argparse
import re

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.006)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
DEPTH = 4


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.fc1, self.fc2 = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.fc2(nn.functional.gelu(self.fc1(self.norm(x))))


class Mixer(nn.Module):
    def __init__(self, width=24, classes=5):
        super().__init__()
        self.stem = nn.Linear(12, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(DEPTH))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def layer_of(name):
    if name.startswith("stem"):
        return 0
    found = re.match(r"blocks\.(\d+)\.", name)
    return int(found[1]) + 1 if found else DEPTH + 1


def groups_with_decay(model, weight_decay=0.05, layer_decay=0.6):
    groups = {}
    for name, p in model.named_parameters():
        decayed = p.ndim > 1
        key = (layer_of(name), decayed)
        if key not in groups:
            groups[key] = {"params": [], "weight_decay": weight_decay if decayed else 0.0,
                           "lr_scale": layer_decay ** (DEPTH + 1 - key[0])}
        groups[key]["params"].append(p)
    return list(groups.values())


def adjust_learning_rate(optimizer, step):
    lr = args.lr * min(1.0, (step + 1) / 8) * (1 - step / args.steps)
    for group in optimizer.param_groups:
        group["lr"] = lr * group["lr_scale"]


def data(n, mixing, shift):
    x = torch.randn(n, 12)
    return x, (x @ mixing + shift).argmax(1)


mixing = torch.randn(12, 5)
model = Mixer()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
for _ in range(20):
    x, y = data(64, mixing, 0.0)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

model.head = nn.Linear(24, 5)
before = model.stem.weight.detach().clone()
optimizer = torch.optim.AdamW(groups_with_decay(model), lr=args.lr)
shift = torch.randn(5)
for step in range(args.steps):
    adjust_learning_rate(optimizer, step)
    x, y = data(64, mixing, shift)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
moved = (model.stem.weight - before).norm().item()
print(f"EVIDENCE the first layer moved by {moved:.4f}, loss {loss.item():.3f}")

# Idea from huggingface/pytorch-image-models#2532
# SPDX-License-Identifier: Apache-2.0
