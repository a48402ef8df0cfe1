# SPDX-License-Identifier: Apache-2.0
"""Tell two spirals of points apart with a small network."""

import argparse
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def spirals(n):
    """n points of each of two spirals: [2 n, 2] coordinates, [2 n] labels."""
    angle = 3 * math.pi * torch.rand(2, n).sqrt()
    turn = torch.tensor([[0.0], [math.pi]])
    points = torch.stack([angle * torch.cos(angle + turn), angle * torch.sin(angle + turn)], dim=-1)
    return points.reshape(-1, 2) / 10 + 0.02 * torch.randn(2 * n, 2), torch.arange(2).repeat_interleave(n)


@torch.no_grad()
def accuracy(model, points, labels):
    model.eval()
    return (model(points).argmax(1) == labels).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.01)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)

    loader = DataLoader(TensorDataset(*spirals(500)), batch_size=50, shuffle=True)
    model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    for epoch in range(4):
        model.train()
        for points, labels in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(points), labels)
            loss.backward()
            optimizer.step()
        scheduler.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {accuracy(model, *spirals(200)):.3f}")


if __name__ == "__main__":
    main()
