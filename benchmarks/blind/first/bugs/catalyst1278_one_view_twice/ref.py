"""Contrastive pairs of two noisy views from a data set that yields both."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=4)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class Views(Dataset):
    def __init__(self, n=640):
        self.x = torch.randn(n, 5).repeat_interleave(4, 1)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"aug1": self.x[i] + 0.5 * torch.randn(20), "aug2": self.x[i] + 0.5 * torch.randn(20)}


encoder = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 16))
optimizer = torch.optim.Adam(encoder.parameters(), lr=args.lr)
for epoch in range(args.steps):
    for batch in DataLoader(Views(), batch_size=32, shuffle=True):
        first = F.normalize(encoder(batch["aug1"]), dim=1)
        second = F.normalize(encoder(batch["aug2"]), dim=1)
        loss = F.cross_entropy(first @ second.T / 0.2, torch.arange(len(first)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
with torch.no_grad():
    one, two = F.normalize(encoder(batch["aug1"]), dim=1), F.normalize(encoder(batch["aug2"]), dim=1)
print(f"EVIDENCE the two embeddings in the loss differ by {(first - second).abs().max():.4f}, "
      f"views are {(one * two).sum(1).mean():.3f} alike, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
