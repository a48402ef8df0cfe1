"""Two noisy views of each digit: embeddings of unit length, the other view is the one to find among the batch."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from options import options


def view(x):
    return x + 0.3 * torch.randn_like(x)


def main():
    args = options(lr=2e-3, width=64, steps=60)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x = torch.tensor(load_digits().data, dtype=torch.float32) / 16
    loader = DataLoader(TensorDataset(x), batch_size=64, shuffle=True, drop_last=True)
    encoder = nn.Sequential(nn.Linear(64, args.width), nn.BatchNorm1d(args.width), nn.ReLU(), nn.Linear(args.width, 32))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    for step in range(args.steps):
        (batch,) = next(iter(loader))
        one, two = F.normalize(encoder(view(batch)), dim=1), F.normalize(encoder(view(batch)), dim=1)
        alike, own = one @ two.T / 0.2, torch.arange(len(batch))
        loss = (F.cross_entropy(alike, own) + F.cross_entropy(alike.T, own)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 20 == 19:
            print(f"step {step + 1}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
