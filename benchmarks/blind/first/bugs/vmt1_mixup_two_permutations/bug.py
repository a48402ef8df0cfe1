"""Mixup: two samples and their labels are mixed alike."""

import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
labels = torch.tensor(digits.target)


def mixup(x, y, alpha=0.4):
    weight = torch.distributions.Beta(alpha, alpha).sample()
    order = torch.randperm(len(x))
    mixed = weight * x + (1 - weight) * x[order]
    return mixed, y, y[torch.randperm(len(y))], weight


net = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(192, 10))
opt = torch.optim.AdamW(net.parameters(), lr=args.lr)
for step in range(args.steps):
    rows = torch.randint(0, 1500, (64,))
    x, first, second, weight = mixup(images[rows], labels[rows])
    out = net(x)
    loss = weight * F.cross_entropy(out, first) + (1 - weight) * F.cross_entropy(out, second)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    out = net(images[1500:])
    print(f"EVIDENCE held out: accuracy {(out.argmax(1) == labels[1500:]).float().mean():.3f}, "
          f"loss {F.cross_entropy(out, labels[1500:]):.4f}")

# SPDX-License-Identifier: Apache-2.0
