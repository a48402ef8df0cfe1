"""A small network finds five keypoints of a figure; images are flipped at random."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=36)
args = parser.parse_args()
SIZE = 16
FLIP_PAIRS = [0, 2, 1, 4, 3]  # head, left and right hand, left and right foot


class Figures(Dataset):
    def __init__(self, n, is_training=True):
        body = torch.tensor([[7.5, 3.0], [4.0, 7.0], [11.0, 8.5], [6.0, 13.0], [9.0, 12.0]])
        self.keypoints = body + torch.randn(n, 1, 2) + 0.5 * torch.randn(n, 5, 2)
        self.is_training = is_training

    def __len__(self):
        return len(self.keypoints)

    def render(self, keypoints):
        y, x = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
        d = (x - keypoints[:, 0, None, None]) ** 2 + (y - keypoints[:, 1, None, None]) ** 2
        weight = torch.tensor([1.0, 0.5, 0.9, 0.3, 0.7])[:, None, None]
        return (weight * torch.exp(-d / 2)).sum(0, keepdim=True)

    def __getitem__(self, i):
        keypoints = self.keypoints[i].clone()
        image = self.render(keypoints)
        if self.is_training and torch.rand(()) < 0.5:
            image = image.flip(2)
            keypoints[:, 0] = SIZE - 1 - keypoints[:, 0]
            keypoints = keypoints[FLIP_PAIRS]
        return image, keypoints / SIZE


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU(), nn.Flatten(),
                      nn.Linear(256, 10), nn.Unflatten(1, (5, 2)))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
data = Figures(24 * args.steps)
crossed = []
for image, keypoints in DataLoader(data, batch_size=24, shuffle=True):
    loss = nn.functional.smooth_l1_loss(model(image), keypoints)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    crossed.append((keypoints[:, 1, 0] > keypoints[:, 2, 0]).float().mean())
print(f"EVIDENCE left hand right of the right one in {torch.stack(crossed).mean():.0%} of the targets, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
