"""Anchors are matched with a box; the network tells which anchors match, and corrects them."""

import argparse

import torch
from torch import nn
from torch.nn import functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=150)
args = parser.parse_args()
GRID = torch.arange(4).float() * 4 + 2
CENTRES = torch.stack(torch.meshgrid(GRID, GRID, indexing="ij"), dim=-1).view(-1, 2)
ANCHORS = torch.cat([CENTRES - 2.5, CENTRES + 2.5], dim=1)


def iou(a, b):
    """a: anchors, 4; b: batch, 1, 4"""
    low, high = torch.maximum(a[..., :2], b[..., :2]), torch.minimum(a[..., 2:], b[..., 2:])
    overlap = (high - low).clamp(min=0).prod(-1)
    area = [(box[..., 2:] - box[..., :2]).prod(-1) for box in (a, b)]
    return overlap / (area[0] + area[1] - overlap)


def scenes(count):
    corner = torch.rand(count, 2) * 9
    box = torch.cat([corner, corner + 3 + 3 * torch.rand(count, 2)], dim=1)
    grid = torch.arange(16).float() + 0.5
    inside = [(grid >= box[:, k, None]) & (grid <= box[:, k + 2, None]) for k in (0, 1)]
    picture = (inside[0][:, :, None] & inside[1][:, None, :]).float()
    return (picture + 0.1 * torch.randn_like(picture))[:, None], box


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, padding=1),
                                  nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU())
        self.score, self.offset = nn.Conv2d(32, 1, 1), nn.Conv2d(32, 4, 1)

    def forward(self, x):
        h = self.body(x)
        return self.score(h).flatten(1), self.offset(h).flatten(2).transpose(1, 2)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Detector()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
matched = 0
for step in range(1, args.steps + 1):
    picture, box = scenes(32)
    positive = iou(ANCHORS[None], box[:, None]) > 0.3
    matched += positive.sum().item()
    score, offset = model(picture)
    wanted = (box[:, None] - ANCHORS[None])[positive]
    loss = F.binary_cross_entropy_with_logits(score, positive.float()) + F.smooth_l1_loss(offset[positive], wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        picture, box = scenes(200)
        with torch.no_grad():
            score, offset = model(picture)
        best = score.argmax(1)
        error = (ANCHORS[best] + offset[torch.arange(200), best] - box).abs().mean().item()
        print(f"step {step}: loss {loss.item():.4f}, corners are {error:.4f} off")
print(f"EVIDENCE {matched / args.steps / 32:.4f} anchors match a box, corners are {error:.4f} off")

# SPDX-License-Identifier: Apache-2.0
