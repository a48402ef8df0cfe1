"""A denoiser in two dimensions; samples for validation come from averaged weights."""

import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class EMAModel:
    """Averages of parameters, which can take the place of the parameters for a while."""

    def __init__(self, parameters, decay=0.98):
        self.decay = decay
        self.shadow = [p.detach().clone() for p in parameters]
        self.stored = None

    @torch.no_grad()
    def step(self, parameters):
        for s, p in zip(self.shadow, parameters):
            s.mul_(self.decay).add_(p, alpha=1 - self.decay)

    def store(self, parameters):
        self.stored = [p.detach().clone() for p in parameters]

    @torch.no_grad()
    def copy_to(self, parameters):
        for s, p in zip(self.shadow, parameters):
            p.copy_(s)

    @torch.no_grad()
    def restore(self, parameters):
        for s, p in zip(self.stored, parameters):
            p.copy_(s)
        self.stored = None


class Denoiser(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, x, t):
        angle = t[:, None] * math.pi
        return self.net(torch.cat([x, angle.sin(), angle.cos(), (4 * angle).sin(), (4 * angle).cos()], 1))


def points(n):
    angle = torch.rand(n) * 2 * math.pi
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(n, 2)


def denoising_loss(model, x):
    t = torch.rand(len(x))
    noise = torch.randn_like(x)
    keep = (t * math.pi / 2).cos()[:, None]
    return nn.functional.mse_loss(model(keep * x + (1 - keep**2).sqrt() * noise, t), noise)


def log_validation(model, ema, held_out):
    ema.store(model.parameters())
    ema.copy_to(model.parameters())
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(1)
        loss = denoising_loss(model, held_out).item()
    ema.restore(model.parameters())
    return loss


model = Denoiser()
ema = EMAModel(model.parameters())
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
held_out = points(512)
for step in range(args.steps):
    loss = denoising_loss(model, points(128))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.step(model.parameters())
    if step % 10 == 9 and step < args.steps - 1:
        print(f"step {step}: loss {loss.item():.3f}, validation {log_validation(model, ema, held_out):.3f}")
with torch.no_grad():
    final = denoising_loss(model, held_out).item()
print(f"EVIDENCE the weights themselves end with loss {final:.4f}, their average with {log_validation(model, ema, held_out):.4f}")

# Idea from PKU-YuanGroup/Open-Sora-Plan#186, harubaru/waifu-diffusion#31
# SPDX-License-Identifier: Apache-2.0
