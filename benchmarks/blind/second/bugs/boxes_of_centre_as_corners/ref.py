"""A detector of one box: its boxes have centre and size, the loss wants corners."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()


def parse_seed():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)


def to_corners(box):
    centre, size = box[..., :2], box[..., 2:]
    return torch.cat([centre - size / 2, centre + size / 2], -1)


def area(box):
    return (box[..., 2] - box[..., 0]).clamp(min=0) * (box[..., 3] - box[..., 1]).clamp(min=0)


def generalised_iou(a, b):
    """Both as corners: x0, y0, x1, y1."""
    inner = torch.cat([torch.maximum(a[..., :2], b[..., :2]), torch.minimum(a[..., 2:], b[..., 2:])], -1)
    outer = torch.cat([torch.minimum(a[..., :2], b[..., :2]), torch.maximum(a[..., 2:], b[..., 2:])], -1)
    union = area(a) + area(b) - area(inner)
    iou = area(inner) / (union + 1e-6)
    return iou - (area(outer) - union) / (area(outer) + 1e-6), iou


def scenes(n, size=24):
    centre = 0.3 + 0.4 * torch.rand(n, 2)
    extent = 0.15 + 0.4 * torch.rand(n, 2)
    box = torch.cat([centre, extent], -1)
    x0, y0, x1, y1 = to_corners(box).unbind(-1)
    grid = (torch.arange(size) + 0.5) / size
    inside_x = (grid >= x0[:, None]) & (grid <= x1[:, None])
    inside_y = (grid >= y0[:, None]) & (grid <= y1[:, None])
    image = (inside_y[:, :, None] & inside_x[:, None, :]).float()[:, None]
    return image + 0.1 * torch.randn_like(image), box


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(),
            nn.Linear(16 * 36, 64), nn.ReLU(), nn.Linear(64, 4),
        )

    def forward(self, image):
        return self.body(image).sigmoid()


def criterion(predicted, box):
    target = to_corners(box)
    giou, _ = generalised_iou(to_corners(predicted), target)
    return (1 - giou).mean() + 0.5 * nn.functional.l1_loss(predicted, box)


def main():
    parse_seed()
    model = Detector()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        image, box = scenes(48)
        loss = criterion(model(image), box)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 15 == 0:
            print(f"step {step} loss {loss.item():.3f}")
    with torch.no_grad():
        image, box = scenes(300)
        _, iou = generalised_iou(to_corners(model(image)), to_corners(box))
    print(f"EVIDENCE mean overlap {iou.mean():.3f}, loss {loss.item():.3f}")


main()

# Idea from own
# SPDX-License-Identifier: Apache-2.0
