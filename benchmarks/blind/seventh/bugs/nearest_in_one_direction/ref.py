"""A decoder makes sets of points from a code; the shapes are rings of several sizes with a dot."""

import argparse

import torch
from torch import nn

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.003), ("--steps", int, 200)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()
POINTS = 24


def chamfer(found, wanted):
    distance = torch.cdist(found, wanted).square()
    return distance.amin(dim=2).mean() + distance.amin(dim=1).mean()


def shapes(count):
    size, turn = 0.5 + torch.rand(count, 1), torch.rand(count, POINTS) * 6.28
    ring = torch.stack([turn.cos(), turn.sin()], dim=2) * size[:, :, None]
    ring[:, :4] = torch.stack([2 * size, -size], dim=2) + 0.05 * torch.randn(count, 4, 2)
    return size, ring


class Decoder(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2 * POINTS))

    def forward(self, code):
        return self.net(code).view(len(code), POINTS, 2)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Decoder()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, max(args.steps // 2, 1), gamma=0.3)
valid_code, valid_points = shapes(100)
for step in range(1, args.steps + 1):
    code, points = shapes(32)
    loss = chamfer(model(code), points)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    if step % 50 == 0:
        with torch.no_grad():
            missed = torch.cdist(valid_points, model(valid_code)).amin(2).mean().item()
        print(f"step {step}: loss {loss.item():.4f}, points are missed by {missed:.4f}")
print(f"EVIDENCE points of the shapes are missed by {missed:.4f}")

# SPDX-License-Identifier: Apache-2.0
