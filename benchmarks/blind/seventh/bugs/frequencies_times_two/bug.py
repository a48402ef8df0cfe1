"""A small field learns a picture from coordinates that are encoded by sines and cosines."""

import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=200)
args = parser.parse_args()


class Encoding(nn.Module):
    def __init__(self, levels):
        super().__init__()
        self.register_buffer("bands", 2.0 * torch.arange(levels) * math.pi)

    def forward(self, points):
        angles = (points[..., None] * self.bands).flatten(1)
        return torch.cat([points, angles.sin(), angles.cos()], dim=1)


class Field(nn.Module):
    def __init__(self, levels=6, width=64):
        super().__init__()
        self.encode = Encoding(levels)
        self.net = nn.Sequential(nn.Linear(2 + 4 * levels, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                 nn.Linear(width, 1))

    def forward(self, points):
        return self.net(self.encode(points)).squeeze(1)


class Picture:
    """Waves of several lengths, the shortest of about a sixteenth of the side."""

    def __init__(self):
        self.waves = [(2 ** k, torch.rand(2) * 6.28, torch.randn(2).sign()) for k in (1, 3, 4)]

    def __call__(self, points):
        parts = [(points * sign * math.pi * rate + phase).sin().prod(1) for rate, phase, sign in self.waves]
        return sum(parts)


def psnr(error):
    return -10 * math.log10(error)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
picture, field = Picture(), Field()
grid = torch.stack(torch.meshgrid(torch.linspace(-1, 1, 40), torch.linspace(-1, 1, 40), indexing="ij"), dim=-1).view(-1, 2)
optimizer = torch.optim.Adam(field.parameters(), lr=args.lr)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps, eta_min=args.lr / 20)
for step in range(1, args.steps + 1):
    points = torch.rand(512, 2) * 2 - 1
    loss = nn.functional.mse_loss(field(points), picture(points))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    schedule.step()
    if step % 50 == 0:
        with torch.no_grad():
            error = nn.functional.mse_loss(field(grid), picture(grid)).item()
        print(f"step {step}: loss {loss.item():.4f}, psnr {psnr(error):.2f}")
print(f"EVIDENCE error {error:.4f} on the grid, {psnr(error):.3f} dB")

# SPDX-License-Identifier: Apache-2.0
