"""A denoiser of short curves; losses of samples are weighted by their signal-to-noise ratio, cut at a limit."""

import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--steps", type=int, default=150)
args = parser.parse_args()
POINTS, TIMES, LIMIT = 24, 100, 5.0


class Denoiser(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.time = nn.Embedding(TIMES, width)
        self.enter, self.middle, self.leave = nn.Linear(POINTS, width), nn.Linear(width, width), nn.Linear(width, POINTS)

    def forward(self, x, time):
        hidden = nn.functional.silu(self.enter(x) + self.time(time))
        hidden = hidden + nn.functional.silu(self.middle(hidden))
        return self.leave(hidden)


def curves(count):
    grid = torch.linspace(0, 2 * math.pi, POINTS)
    return torch.sin(grid * torch.randint(1, 4, (count, 1)) + 6 * torch.rand(count, 1))


def loss_weight(time):
    ratio = kept[time] / (1 - kept[time])
    return ratio.clamp(max=LIMIT) / ratio


torch.manual_seed(args.seed)
torch.set_num_threads(1)
kept = torch.cumprod(1 - torch.linspace(1e-3, 0.08, TIMES), 0)
model = Denoiser()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(args.steps):
    clean, time = curves(64), torch.randint(TIMES, (64,))
    noise = torch.randn_like(clean)
    share = kept[time].unsqueeze(1)
    noisy = share.sqrt() * clean + (1 - share).sqrt() * noise
    each = (model(noisy, time) - noise).square().mean(1)
    loss = (loss_weight(time) * each).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        print(f"step {step}: loss {loss.item():.4f}")
weights = loss_weight(torch.arange(TIMES))
print(f"EVIDENCE weights are {weights[0]:.3f} for the least noise, {weights[-1]:.3f} for the most")

# SPDX-License-Identifier: Apache-2.0
