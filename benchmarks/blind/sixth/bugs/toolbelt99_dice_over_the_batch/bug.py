"""Segmentation of discs on noisy pictures with a soft dice loss; small and large discs are mixed in each batch."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
SIDE = 16


class DiceLoss(nn.Module):
    def __init__(self, smooth=1.0):
        super().__init__()
        self.smooth = smooth

    def forward(self, logits, target):
        probability = logits.sigmoid().flatten(1)
        target = target.flatten(1)
        overlap = (probability * target).sum()
        size = probability.sum() + target.sum()
        dice = (2 * overlap + self.smooth) / (size + self.smooth)
        return 1 - dice.mean()


def pictures(count):
    grid = torch.arange(SIDE).float()
    centre = torch.rand(count, 2) * (SIDE - 6) + 3
    radius = torch.where(torch.rand(count) < 0.5, torch.tensor(1.3), torch.tensor(4.0))
    distance = (grid[None, :, None] - centre[:, 0, None, None]) ** 2 + (grid[None, None] - centre[:, 1, None, None]) ** 2
    mask = (distance < radius[:, None, None] ** 2).float()[:, None]
    return mask + 0.7 * torch.randn(count, 1, SIDE, SIDE), mask


def evaluate(model, data):
    model.eval()
    with torch.no_grad():
        guess, mask = (model(data.tensors[0]) > 0).float().flatten(1), data.tensors[1].flatten(1)
    model.train()
    dice = 2 * (guess * mask).sum(1) / (guess.sum(1) + mask.sum(1)).clamp(min=1)
    small = mask.sum(1) < 12
    return dice[small].mean().item(), dice[~small].mean().item()


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    train, valid = TensorDataset(*pictures(160)), TensorDataset(*pictures(96))
    model = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(),
                          nn.Conv2d(12, 1, 3, padding=1))
    criterion = DiceLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    loader = DataLoader(train, batch_size=16, shuffle=True, drop_last=True)
    step = 0
    while step < args.steps:
        for image, mask in loader:
            loss = criterion(model(image), mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 20 == 0:
                print(f"step {step}: loss {loss.item():.4f}")
            if step == args.steps:
                break
    small, large = evaluate(model, valid)
    print(f"EVIDENCE loss {loss.item():.4f}, dice of small discs {small:.4f}, of large ones {large:.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
