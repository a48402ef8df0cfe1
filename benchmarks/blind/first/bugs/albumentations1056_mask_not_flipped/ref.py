"""Segmentation of discs with random flips."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=70)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


def scenes(n=16, size=12):
    axis = torch.arange(size).float()
    row, column = 2 + 3 * torch.rand(2, n, 1, 1)
    mask = ((axis[:, None] - row) ** 2 + (axis - column) ** 2 < 6).float()
    return (mask + 0.3 * torch.randn(n, size, size))[:, None], mask[:, None]


def augment(image, mask):
    if torch.rand(()) < 0.5:
        image, mask = image.flip(-1), mask.flip(-1)
    if torch.rand(()) < 0.5:
        image, mask = image.flip(-2), mask.flip(-2)
    return image, mask


net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 1))
opt = torch.optim.Adam(net.parameters(), lr=args.lr)
for step in range(args.steps):
    image, mask = augment(*scenes())
    loss = F.binary_cross_entropy_with_logits(net(image), mask)
    opt.zero_grad()
    loss.backward()
    opt.step()
net.eval()
with torch.no_grad():
    image, mask = scenes(64)
    found = net(image) > 0
    overlap = (found & (mask > 0)).sum() / (found | (mask > 0)).sum()
print(f"EVIDENCE overlap {overlap:.3f}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
