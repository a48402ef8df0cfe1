"""A network learns to take noise away from points on a ring; samples are drawn after training."""

import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
TIMES = 30
betas = torch.linspace(1e-3, 0.2, TIMES)
alphas_bar = (1 - betas).cumprod(0)


class Denoiser(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.time = nn.Embedding(TIMES, 16)
        self.net = nn.Sequential(nn.Linear(18, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(),
                                 nn.Linear(width, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], 1))


def ring(n):
    angle = 2 * math.pi * torch.rand(n)
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(n, 2)


def add_noise(x, noise, t):
    keep = alphas_bar[t][:, None]
    return keep.sqrt() * x + (1 - keep).sqrt() * noise


def p_losses(model, x_start, t):
    noise = torch.randn_like(x_start)
    x_noisy = add_noise(x_start, noise, t)
    prediction = model(x_noisy, t)
    return nn.functional.mse_loss(prediction, noise, reduction="mean")


@torch.no_grad()
def sample(model, n):
    x = torch.randn(n, 2)
    for t in reversed(range(TIMES)):
        eps = model(x, torch.full((n,), t))
        x = (x - betas[t] / (1 - alphas_bar[t]).sqrt() * eps) / (1 - betas[t]).sqrt()
        if t:
            x += betas[t].sqrt() * torch.randn_like(x)
    return x


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Denoiser()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(args.steps):
    x = ring(256)
    loss = p_losses(model, x, torch.randint(TIMES, (len(x),)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step}: loss {loss.item():.3f}")
model.eval()
radius = sample(model, 512).norm(dim=1)
print(f"EVIDENCE loss {loss.item():.4f}, samples have radius {radius.mean():.3f}")

# SPDX-License-Identifier: Apache-2.0
