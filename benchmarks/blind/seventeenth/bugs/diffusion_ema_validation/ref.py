"""Train a small DDPM on the 8x8 digits and keep an EMA copy for sampling and validation."""
import argparse
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class NoiseSchedule:
    def __init__(self, num_steps=200):
        betas = torch.linspace(1e-4, 0.04, num_steps)
        self.num_steps = num_steps
        self.alphas_cumprod = torch.cumprod(1.0 - betas, dim=0)

    def add_noise(self, x0, noise, t):
        a = self.alphas_cumprod[t].view(-1, 1, 1, 1)
        return a.sqrt() * x0 + (1 - a).sqrt() * noise


def timestep_embedding(t, dim):
    half = dim // 2
    freqs = torch.exp(-math.log(1000.0) * torch.arange(half) / half)
    args = t.float()[:, None] * freqs[None]
    return torch.cat([args.sin(), args.cos()], dim=1)


class ResBlock(nn.Module):
    def __init__(self, channels, emb_dim):
        super().__init__()
        self.norm1 = nn.GroupNorm(4, channels)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.emb = nn.Linear(emb_dim, channels)
        self.norm2 = nn.GroupNorm(4, channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x, emb):
        h = self.conv1(F.silu(self.norm1(x)))
        h = h + self.emb(emb)[:, :, None, None]
        h = self.conv2(F.silu(self.norm2(h)))
        return x + h


class Denoiser(nn.Module):
    def __init__(self, channels=32, emb_dim=64, depth=3):
        super().__init__()
        self.emb_dim = emb_dim
        self.time = nn.Sequential(nn.Linear(emb_dim, emb_dim), nn.SiLU())
        self.inp = nn.Conv2d(1, channels, 3, padding=1)
        self.blocks = nn.ModuleList([ResBlock(channels, emb_dim) for _ in range(depth)])
        self.out = nn.Conv2d(channels, 1, 3, padding=1)

    def forward(self, x, t):
        emb = self.time(timestep_embedding(t, self.emb_dim))
        h = self.inp(x)
        for block in self.blocks:
            h = block(h, emb)
        return self.out(h)


class EMA:
    """Shadow parameters, with store / copy_to / restore for evaluation."""

    def __init__(self, parameters, decay):
        self.decay = decay
        self.shadow = [p.detach().clone() for p in parameters]
        self.stored = None

    @torch.no_grad()
    def step(self, parameters):
        for s, p in zip(self.shadow, parameters):
            s.lerp_(p, 1 - self.decay)

    @torch.no_grad()
    def copy_to(self, parameters):
        for s, p in zip(self.shadow, parameters):
            p.copy_(s)

    def store(self, parameters):
        self.stored = [p.detach().clone() for p in parameters]

    @torch.no_grad()
    def restore(self, parameters):
        for c, p in zip(self.stored, parameters):
            p.copy_(c)
        self.stored = None


@torch.no_grad()
def validation_loss(model, schedule, images):
    gen = torch.Generator().manual_seed(1234)
    t = torch.randint(0, schedule.num_steps, (len(images),), generator=gen)
    noise = torch.randn(images.shape, generator=gen)
    pred = model(schedule.add_noise(images, noise, t), t)
    return F.mse_loss(pred, noise).item()


def log_validation(model, ema, schedule, images, step):
    ema.store(model.parameters())
    ema.copy_to(model.parameters())
    model.eval()
    loss = validation_loss(model, schedule, images)
    model.train()
    ema.restore(model.parameters())
    print(f"step {step:4d} | validation (ema) {loss:.4f}")
    return loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--ema-decay", type=float, default=0.95)
    parser.add_argument("--validate-every", type=int, default=10)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)

    images = torch.tensor(load_digits().images, dtype=torch.float32).unsqueeze(1) / 8.0 - 1.0
    order = rng.permutation(len(images))
    train, val = images[order[:1500]], images[order[1500:]]

    schedule = NoiseSchedule()
    model = Denoiser()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)
    ema = EMA(model.parameters(), args.ema_decay)

    running = 0.0
    for step in range(1, args.steps + 1):
        x0 = train[rng.integers(0, len(train), args.batch_size)]
        t = torch.randint(0, schedule.num_steps, (len(x0),))
        noise = torch.randn_like(x0)
        loss = F.mse_loss(model(schedule.add_noise(x0, noise, t), t), noise)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        ema.step(model.parameters())
        running = loss.item() if step == 1 else 0.9 * running + 0.1 * loss.item()
        if step % args.validate_every == 0:
            print(f"step {step:4d} | loss {running:.4f}")
            log_validation(model, ema, schedule, val, step)

    ema.copy_to(model.parameters())
    model.eval()
    print(f"EVIDENCE val_noise_mse={validation_loss(model, schedule, val):.4f}")


if __name__ == "__main__":
    main()
