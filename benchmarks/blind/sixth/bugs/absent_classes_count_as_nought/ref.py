"""Semantic segmentation of strips: each picture has two or three of six classes; measured is the mean IoU of pictures."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
CLASSES, WIDTH = 6, 32


def mean_iou(guess, truth):
    """One value for each picture."""
    guess, truth = nn.functional.one_hot(guess, CLASSES).bool(), nn.functional.one_hot(truth, CLASSES).bool()
    intersection, union = (guess & truth).sum(1).float(), (guess | truth).sum(1).float()
    iou = intersection / union
    return iou.nanmean(dim=1)


def strips(count, colours):
    labels = torch.zeros(count, WIDTH, dtype=torch.long)
    for row in labels:
        cuts = sorted(torch.randint(4, WIDTH - 4, (2,)).tolist())
        row[:cuts[0]], row[cuts[0]:cuts[1]], row[cuts[1]:] = torch.randint(CLASSES, (3,))
    return colours[labels].transpose(1, 2) + 0.6 * torch.randn(count, 4, WIDTH), labels


def validate(model, loader):
    model.eval()
    with torch.no_grad():
        values = torch.cat([mean_iou(model(x).argmax(1), y) for x, y in loader])
    model.train()
    return values.mean().item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
colours = torch.randn(CLASSES, 4)
train = DataLoader(TensorDataset(*strips(320, colours)), batch_size=16, shuffle=True)
valid = DataLoader(TensorDataset(*strips(120, colours)), batch_size=40)
model = nn.Sequential(nn.Conv1d(4, 24, 5, padding=2), nn.BatchNorm1d(24), nn.ReLU(), nn.Conv1d(24, CLASSES, 5, padding=2))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max", patience=1)
for epoch in range(max(1, args.steps // len(train))):
    for x, y in train:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    measure = validate(model, valid)
    scheduler.step(measure)
    print(f"epoch {epoch}: loss {loss.item():.4f}, mean IoU {measure:.4f}")
print(f"EVIDENCE loss {loss.item():.4f}, mean IoU {measure:.4f}")

# SPDX-License-Identifier: Apache-2.0
