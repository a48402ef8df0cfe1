"""Denoising diffusion on points of two moons, sampled with few of the many steps, without noise."""

import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=500)
args = parser.parse_args()
TIMES = 200


class Denoiser(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2 + 16, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, x, t):
        angles = (t[:, None] / TIMES) * math.pi * torch.arange(1, 9)
        return self.body(torch.cat([x, angles.sin(), angles.cos()], dim=1))


class Diffusion:
    def __init__(self):
        betas = torch.linspace(1e-4, 0.04, TIMES)
        self.alphas_cumprod = torch.cumprod(1 - betas, dim=0)

    def add_noise(self, x, noise, t):
        signal = self.alphas_cumprod[t][:, None]
        return signal.sqrt() * x + (1 - signal).sqrt() * noise

    @torch.no_grad()
    def sample(self, model, count, sampling_steps=20):
        times = torch.linspace(TIMES - 1, 0, sampling_steps).round().long().tolist()
        x = torch.randn(count, 2)
        for t, t_prev in zip(times, times[1:] + [-1]):
            noise = model(x, torch.full((count,), t))
            now = self.alphas_cumprod[t]
            before = self.alphas_cumprod[t - 1] if t_prev >= 0 else torch.tensor(1.0)
            clean = (x - (1 - now).sqrt() * noise) / now.sqrt()
            x = before.sqrt() * clean + (1 - before).sqrt() * noise
        return x


def moons(count):
    angle = math.pi * torch.rand(count)
    upper = torch.rand(count) < 0.5
    x = torch.where(upper, angle.cos(), 1 - angle.cos())
    y = torch.where(upper, angle.sin(), 0.5 - angle.sin())
    return (torch.stack([x, y], dim=1) - torch.tensor([0.5, 0.25])) * 1.3 + 0.05 * torch.randn(count, 2)


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    model, diffusion = Denoiser(), Diffusion()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        x = moons(256)
        t = torch.randint(TIMES, (256,))
        noise = torch.randn_like(x)
        loss = nn.functional.mse_loss(model(diffusion.add_noise(x, noise, t), t), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % 100 == 0:
            drawn = diffusion.sample(model, 200)
            print(f"step {step + 1}: loss {loss.item():.4f}, spread {drawn.std(0).mean().item():.3f}")
    drawn, real = diffusion.sample(model, 600), moons(2000)
    far = torch.cdist(drawn, real).min(1).values.mean().item()
    missed = torch.cdist(real, drawn).min(1).values.mean().item()
    print(f"EVIDENCE samples are {far:.4f} from the data, the data {missed:.4f} from samples, spread {drawn.std(0).mean().item():.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
