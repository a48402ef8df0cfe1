"""One square in each picture is found by a grid of cells: which cell, and where in it the centre is."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

SIZE, STRIDE, GRID = 24, 4, 6


def make_pictures(count, generator):
    centre = torch.rand(count, 2, generator=generator) * (SIZE - 6) + 3
    grid = torch.arange(SIZE) + 0.5
    inside_y = ((grid[None] - centre[:, 1:]).abs() * -1 + 2.5).clamp(0, 1)
    inside_x = ((grid[None] - centre[:, :1]).abs() * -1 + 2.5).clamp(0, 1)
    square = inside_y.unsqueeze(2) * inside_x.unsqueeze(1)
    return (square + 0.2 * torch.randn(count, SIZE, SIZE, generator=generator)).unsqueeze(1), centre


def make_targets(centre):
    """The number of the object's cell and its place relative to the cell, in cells."""
    cell = (centre / STRIDE).round().clamp(0, GRID - 1)
    offset = centre / STRIDE - cell
    return (cell[:, 1] * GRID + cell[:, 0]).long(), offset


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 4, 2, 1), nn.ReLU(),
                                  nn.Conv2d(32, 32, 3, 1, 1), nn.ReLU())
        self.out = nn.Conv2d(32, 3, 1)

    def forward(self, x):
        y = self.out(self.body(x)).flatten(2)
        return y[:, 0], torch.sigmoid(y[:, 1:])


def find(score, offset):
    best = score.argmax(1)
    shift = offset[torch.arange(len(best)), :, best]
    return (torch.stack([best % GRID, best // GRID], 1) + shift) * STRIDE


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=250)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    pictures, centre = make_pictures(1500, generator)
    model = Detector()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        rows = torch.randint(0, 1200, (32,), generator=generator)
        number, offset = make_targets(centre[rows])
        score, guess = model(pictures[rows])
        loss = F.cross_entropy(score, number) + 5 * F.mse_loss(guess[torch.arange(len(rows)), :, number], offset)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    with torch.no_grad():
        away = (find(*model(pictures[1200:])) - centre[1200:]).norm(dim=1).mean()
    least = make_targets(centre)[1].min()
    print(f"EVIDENCE least offset {least:.4f}, centres are {away.item():.4f} pixels away, loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
