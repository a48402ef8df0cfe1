"""Focal loss on unbalanced classes: hard samples are to weigh more than easy ones."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0):
        super().__init__()
        self.gamma = gamma

    def forward(self, logits, target):
        ce = F.cross_entropy(logits, target, reduction="none")
        self.weight = (1 - torch.exp(-ce)) ** self.gamma
        return (self.weight * ce).mean()


centers = torch.randn(4, 16)
target = torch.multinomial(torch.tensor([0.7, 0.2, 0.07, 0.03]), 2048, replacement=True)
inputs = centers[target] + 1.2 * torch.randn(2048, 16)
model = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 4))
criterion = FocalLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for step in range(args.steps):
    rows = torch.randint(0, 2048, (64,))
    optimizer.zero_grad()
    loss = criterion(model(inputs[rows]), target[rows])
    loss.backward()
    optimizer.step()
spread = (criterion.weight.max() - criterion.weight.min()).item()
print(f"EVIDENCE focal weights in a batch differ by {spread:.4f}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
