"""Training with an average of weights, interrupted and resumed."""

import argparse
import copy
import os
import tempfile

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

DECAY = 0.98


def build():
    model = nn.Sequential(nn.Linear(12, 48), nn.Tanh(), nn.Linear(48, 2))
    return model, copy.deepcopy(model).requires_grad_(False), torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)


def train(model, average, optimizer, steps):
    for _ in range(steps):
        x = torch.randn(48, 12)
        y = torch.stack([x[:, 0] * x[:, 1], x[:, 2].abs()], 1)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for a, p in zip(average.parameters(), model.parameters()):
                a.mul_(DECAY).add_(p, alpha=1 - DECAY)
    return loss


model, average, optimizer = build()
train(model, average, optimizer, args.steps)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "last.pt")
    torch.save({"model": model.state_dict(), "average": average.state_dict(), "optimizer": optimizer.state_dict()}, path)
    before = copy.deepcopy(average)
    model, average, optimizer = build()
    checkpoint = torch.load(path)
model.load_state_dict(checkpoint["model"])
optimizer.load_state_dict(checkpoint["optimizer"])
average.load_state_dict(checkpoint["model"])
jump = sum((a - b).abs().sum().item() for a, b in zip(before.parameters(), average.parameters()))
loss = train(model, average, optimizer, args.steps)
print(f"EVIDENCE resuming moved the average by {jump:.4f}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
