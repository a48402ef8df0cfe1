"""Fine-tuning with a tenth of the rate for the backbone and a schedule by hand."""

import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

backbone = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
head = nn.Linear(32, 3)
optimizer = torch.optim.SGD([
    {"params": backbone.parameters(), "lr": 0.1 * args.lr, "scale": 0.1},
    {"params": head.parameters(), "lr": args.lr, "scale": 1.0},
], lr=args.lr, momentum=0.9)


def adjust(step):
    rate = args.lr * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * step / args.steps)))
    for group in optimizer.param_groups:
        group["lr"] = rate * group["scale"]


start = [p.detach().clone() for p in backbone.parameters()]
for step in range(args.steps):
    adjust(step)
    x = torch.randn(64, 16)
    loss = nn.functional.cross_entropy(head(backbone(x)), x[:, :3].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
moved = sum((p - s).abs().sum().item() for p, s in zip(backbone.parameters(), start))
rates = [group["lr"] for group in optimizer.param_groups]
print(f"EVIDENCE the rates are {rates[1] / rates[0]:.1f} to 1, the backbone moved by {moved:.3f}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
