"""A small diffusion model on digits; a second model follows the first as its moving average and makes the samples."""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader

from options import options

STEPS = 40


class Denoiser(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, width), nn.SiLU(), nn.Linear(width, width))
        self.inp, self.mid, self.out = nn.Linear(64, width), nn.Linear(width, width), nn.Linear(width, 64)
        self.norm = nn.LayerNorm(width)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x, t):
        freq = torch.exp(torch.arange(8) * (-math.log(1000) / 8))
        angle = t[:, None].float() * freq
        h = self.inp(x) + self.time(torch.cat([angle.sin(), angle.cos()], dim=1))
        h = h + F.silu(self.mid(self.norm(F.silu(h))))
        return self.out(h)


@torch.no_grad()
def update_ema(ema, model, decay):
    for e, p in zip(ema.parameters(), model.parameters()):
        e.mul_(decay).add_(p, alpha=1 - decay)


@torch.no_grad()
def sample(model, alpha_bar, n):
    model.eval()
    x = torch.randn(n, 64)
    for t in reversed(range(STEPS)):
        eps = model(x, torch.full((n,), t))
        x0 = ((x - (1 - alpha_bar[t]).sqrt() * eps) / alpha_bar[t].sqrt()).clamp(-1, 1)
        previous = alpha_bar[t - 1] if t else torch.tensor(1.0)
        x = previous.sqrt() * x0 + (1 - previous).sqrt() * eps
    return x


def main():
    args = options(lr=3e-3, width=96, steps=45)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    images = torch.tensor(load_digits().data, dtype=torch.float32) / 8 - 1
    loader = DataLoader(images, batch_size=120, shuffle=True, drop_last=True)
    alpha_bar = torch.cumprod(1 - torch.linspace(1e-3, 0.2, STEPS), 0)
    model = Denoiser(args.width)
    ema = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(max(2, args.steps // len(loader))):
        model.train()
        for x in loader:
            t = torch.randint(STEPS, (len(x),))
            noise = torch.randn_like(x)
            a = alpha_bar[t][:, None]
            loss = F.mse_loss(model(a.sqrt() * x + (1 - a).sqrt() * noise, t), noise)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            update_ema(ema, model, 0.95)
        print(f"epoch {epoch}: loss {loss.item():.3f}, mean of samples {sample(ema, alpha_bar, 32).mean().item():.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
