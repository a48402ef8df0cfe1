"""Denoising with labels that are dropped at times, weights by signal-to-noise, an average of weights warmed up."""

import argparse
import copy

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
STEPS, NONE = 50, 4


class Denoiser(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.label, self.time = nn.Embedding(NONE + 1, 16), nn.Embedding(STEPS, 16)
        self.net = nn.Sequential(nn.Linear(34, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x, t, label):
        return self.net(torch.cat([x, self.time(t), self.label(label)], 1))


betas = torch.linspace(1e-3, 0.15, STEPS)
kept = torch.cumprod(1 - betas, 0)
snr = kept / (1 - kept)
centres = torch.tensor([[2.0, 0], [0, 2], [-2, 0], [0, -2]])
model = Denoiser()
average = copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(args.steps):
    label = torch.randint(0, 4, (128,))
    x = centres[label] + 0.2 * torch.randn(128, 2)
    label = torch.where(torch.rand(128) < 0.1, NONE, label)
    t = torch.randint(0, STEPS, (128,))
    noise = torch.randn_like(x)
    noisy = kept[t].sqrt()[:, None] * x + (1 - kept[t]).sqrt()[:, None] * noise
    weight = snr[t].clamp(max=5) / snr[t]
    loss = (weight[:, None] * (model(noisy, t, label) - noise) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    decay = min(0.99, (1 + step) / (10 + step))
    with torch.no_grad():
        for a, p in zip(average.parameters(), model.parameters()):
            a.lerp_(p, 1 - decay)


@torch.no_grad()
def sample(label, guidance=1.5):
    x = torch.randn(len(label), 2)
    for i in reversed(range(STEPS)):
        t = torch.full((len(label),), i)
        free = average(x, t, torch.full_like(label, NONE))
        noise = free + guidance * (average(x, t, label) - free)
        x = (x - betas[i] / (1 - kept[i]).sqrt() * noise) / (1 - betas[i]).sqrt()
        if i:
            x = x + betas[i].sqrt() * torch.randn_like(x)
    return x


label = torch.arange(4).repeat(16)
near = (torch.cdist(sample(label), centres).argmin(1) == label).float().mean()
print(f"loss {loss.item():.3f}, {near:.2f} of the samples lie at their label's centre")

# SPDX-License-Identifier: Apache-2.0
