"""A one-stage detector on a grid of anchors: classes of all anchors are learned, boxes of those with an object."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
GRID, CELL = 6, 4


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 24, 3, 2, 1), nn.ReLU())
        self.classes, self.boxes = nn.Conv2d(24, 1, 1), nn.Conv2d(24, 4, 1)

    def forward(self, x):
        hidden = self.body(x)
        return self.classes(hidden).flatten(1), self.boxes(hidden).flatten(2).transpose(1, 2)


def pictures(count):
    x = 0.2 * torch.randn(count, 1, GRID * CELL, GRID * CELL)
    present = torch.zeros(count, GRID * GRID, dtype=torch.bool)
    offsets = torch.zeros(count, GRID * GRID, 4)
    for i in range(count):
        for anchor in torch.randperm(GRID * GRID)[:3].tolist():
            shift, size = torch.randint(0, 2, (2,)), torch.randint(2, 4, (2,))
            row, column = anchor // GRID * CELL + int(shift[0]), anchor % GRID * CELL + int(shift[1])
            x[i, 0, row:row + int(size[0]), column:column + int(size[1])] += 1.5
            present[i, anchor] = True
            offsets[i, anchor] = torch.cat([shift / CELL, (size / CELL).log()])
    return x, present, offsets


def loss_of(outputs, present, offsets):
    scores, boxes = outputs
    count = present.sum().clamp(min=1)
    answer = nn.functional.binary_cross_entropy_with_logits(scores, present.float(), reduction="sum")
    each = nn.functional.smooth_l1_loss(boxes, offsets, reduction="none").sum(-1)
    box = each[present].sum()
    return answer / count, box / count


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Detector()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(args.steps):
    x, present, offsets = pictures(12)
    answer, box = loss_of(model(x), present, offsets)
    loss = answer + 2.0 * box
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step}: classes {answer.item():.3f}, boxes {box.item():.3f}")
scores, boxes = model(x)
gradient, = torch.autograd.grad(loss_of((scores, boxes), present, offsets)[1], boxes)
share = gradient[~present].abs().sum() / gradient.abs().sum()
print(f"EVIDENCE {share:.4f} of the boxes' gradient comes from anchors without an object")

# SPDX-License-Identifier: Apache-2.0
