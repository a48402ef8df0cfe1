"""Depth is predicted from pictures; a third of the pixels was not measured and holds nought."""

import argparse

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()


def scenes(count):
    base = torch.nn.functional.interpolate(torch.rand(count, 1, 4, 4), size=16, mode="bilinear", align_corners=False)
    depth = 2 + 6 * base
    picture = torch.cat([base.sqrt(), base.square()], dim=1) + 0.03 * torch.randn(count, 2, 16, 16)
    return picture, torch.where(torch.rand_like(depth) < 0.35, 0.0, depth), depth


def network():
    return nn.Sequential(nn.Conv2d(2, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
                         nn.Conv2d(16, 1, 1), nn.Softplus())


def depth_loss(guess, target):
    valid = target > 0
    return F.l1_loss(guess[valid], target[valid])


torch.manual_seed(args.seed)
torch.set_num_threads(1)
picture, measured, _ = scenes(480)
valid_picture, _, truth = scenes(80)
loader = DataLoader(TensorDataset(picture, measured), batch_size=16, shuffle=True)
model = network()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
step = 0
while step < args.steps:
    for inputs, target in loader:
        loss = depth_loss(model(inputs), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    with torch.no_grad():
        guess = model(valid_picture)
    print(f"step {step}: loss {loss.item():.4f}, error {F.l1_loss(guess, truth).item():.4f}, mean {guess.mean().item():.3f}")
print(f"EVIDENCE the error is {F.l1_loss(guess, truth).item():.4f}, {guess.mean().item() - truth.mean().item():.4f} too far")

# SPDX-License-Identifier: Apache-2.0
