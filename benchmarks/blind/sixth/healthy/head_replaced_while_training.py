"""New classes come in the middle of training: the head grows, a norm is folded away, the moments are carried over."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=90)
args = parser.parse_args()


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.into = nn.Linear(10, 32)
        self.norm = nn.BatchNorm1d(32)
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        x = self.into(x)
        if self.norm is not None:
            x = self.norm(x)
        return self.head(x.relu())


def fold(model):
    """The norm of evaluation mode becomes a part of the layer before it."""
    norm = model.norm
    scale = norm.weight / (norm.running_var + norm.eps).sqrt()
    with torch.no_grad():
        model.into.bias.copy_((model.into.bias - norm.running_mean) * scale + norm.bias)
        model.into.weight.mul_(scale[:, None])
    model.norm = None


def grow(model, optimizer, classes):
    """The old rows stay as they are, with their moments; the new ones begin at nought."""
    old = model.head
    model.head = nn.Linear(old.in_features, classes)
    with torch.no_grad():
        nn.init.zeros_(model.head.weight)
        nn.init.constant_(model.head.bias, -2.0)
        model.head.weight[: old.out_features] = old.weight
        model.head.bias[: old.out_features] = old.bias
    fresh = torch.optim.Adam(model.parameters(), lr=optimizer.param_groups[0]["lr"])
    for before, after in ((old.weight, model.head.weight), (old.bias, model.head.bias)):
        state = optimizer.state[before]
        moved = {"step": state["step"].clone()}
        for key in ("exp_avg", "exp_avg_sq"):
            moved[key] = torch.zeros_like(after)
            moved[key][: len(before)] = state[key]
        fresh.state[after] = moved
    return fresh


def batch(classes):
    y = torch.randint(classes, (32,))
    return centres[y] + 0.7 * torch.randn(32, 10), y


def train(model, optimizer, classes, steps):
    for _ in range(steps):
        x, y = batch(classes)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{classes} classes: loss {loss.item():.4f}, {sum(p.numel() for p in model.parameters())} numbers")


torch.manual_seed(args.seed)
torch.set_num_threads(1)
centres = torch.randn(6, 10)
model = Net(3)
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
train(model, optimizer, 3, args.steps // 3)
optimizer = grow(model, optimizer, 5)
train(model, optimizer, 5, args.steps // 3)
model.eval()
x, _ = batch(5)
before = model(x).detach()
fold(model)
print(f"folding changed answers by {(model(x) - before).abs().max().item():.1e}")
model.train()
optimizer = grow(model, optimizer, 6)
train(model, optimizer, 6, args.steps // 3)

# SPDX-License-Identifier: Apache-2.0
