"""Denoising: each look at a signal has noise of its own."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=12)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class Signals(Dataset):
    def __init__(self, n=128):
        phase = torch.rand(n, 1) * 6.28
        self.clean = torch.sin(torch.linspace(0, 6.28, 24) + phase)
        self.noisy = self.clean + 0.5 * torch.randn_like(self.clean)

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, i):
        return self.clean[i] + 0.5 * torch.randn(24), self.clean[i]


data = Signals()
net = nn.Sequential(nn.Linear(24, 96), nn.ReLU(), nn.Linear(96, 24))
optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
seen = set()
for epoch in range(args.steps):
    for noisy, clean in DataLoader(data, batch_size=32, shuffle=True):
        loss = nn.functional.mse_loss(net(noisy), clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.update(noisy[:, 0].tolist())
print(f"EVIDENCE {len(seen)} different noisy signals in {args.steps} epochs, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
