"""Segmentation with online mining of hard pixels, class weights and a poly schedule."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=36)
args = parser.parse_args()


def ohem(logits, target, weight, share):
    pixel = F.cross_entropy(logits, target, weight=weight, reduction="none", ignore_index=255).flatten()
    valid = target.flatten() != 255
    k = max(1, int(share * int(valid.sum())))
    return pixel[valid].topk(k).values.mean()


def scenes(n=8, size=16):
    y, x = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    centre, radius = torch.rand(n, 2) * size, 2 + 3 * torch.rand(n, 1, 1)
    inside = ((x - centre[:, 0, None, None]) ** 2 + (y - centre[:, 1, None, None]) ** 2) < radius ** 2
    target = inside.long()
    image = inside.float()[:, None] + 0.5 * torch.randn(n, 1, size, size)
    edge = F.max_pool2d(inside.float()[:, None], 3, 1, 1)[:, 0] != inside
    target[edge] = 255
    return image, target


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ReLU(inplace=True), nn.Conv2d(8, 8, 3, padding=1),
                      nn.ReLU(inplace=True), nn.Conv2d(8, 2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
weight = torch.tensor([0.4, 0.6])
for step in range(args.steps):
    for group in optimizer.param_groups:
        group["lr"] = args.lr * (1 - step / args.steps) ** 0.9
    image, target = scenes()
    logits = model(image)
    loss = ohem(logits, target, weight, share=min(0.6, 0.25 + step / args.steps))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
valid = target != 255
print(f"loss {loss:.3f}, accuracy {(logits.argmax(1) == target)[valid].float().mean():.3f}")

# SPDX-License-Identifier: Apache-2.0
