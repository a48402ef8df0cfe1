"""Denoising diffusion on a two-dimensional spiral with averaged weights."""
import argparse
import copy
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    timesteps: int = 100
    beta_schedule: str = "linear"
    hidden: int = 96
    batch_size: int = 128
    lr: float = 2e-3
    warmup: int = 30
    ema_decay: float = 0.99


def alphas_cumprod(cfg):
    t = torch.arange(cfg.timesteps + 1) / cfg.timesteps
    if cfg.beta_schedule == "linear":
        betas = torch.linspace(1e-3, 0.2, cfg.timesteps)
        return torch.cumprod(1 - betas, 0)
    if cfg.beta_schedule == "cosine":
        f = torch.cos((t + 0.008) / 1.008 * math.pi / 2) ** 2
        betas = (1 - f[1:] / f[:-1]).clamp(max=0.999)
        return torch.cumprod(1 - betas, 0)
    raise ValueError(cfg.beta_schedule)


class Denoiser(nn.Module):
    def __init__(self, hidden, timesteps):
        super().__init__()
        self.time = nn.Embedding(timesteps, hidden)
        self.inp = nn.Linear(2, hidden)
        self.layers = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(3))
        self.out = nn.Linear(hidden, 2)

    def forward(self, x, t):
        h = self.inp(x)
        emb = self.time(t)
        for layer in self.layers:
            h = h + F.silu(layer(h + emb))
        return self.out(h)


def spiral(n):
    r = torch.rand(n).sqrt() * 2
    angle = 3 * r + 0.1 * torch.randn(n)
    return torch.stack([r * angle.cos(), r * angle.sin()], 1)


@torch.no_grad()
def ema_update(target, model, decay):
    for a, b in zip(target.parameters(), model.parameters()):
        a.lerp_(b, 1 - decay)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=500)
    args = parser.parse_args()
    cfg = Config()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)

    model = Denoiser(cfg.hidden, cfg.timesteps)
    averaged = copy.deepcopy(model)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / cfg.warmup))
    abar = alphas_cumprod(cfg)
    for step in range(args.steps):
        x0 = spiral(cfg.batch_size)
        t = torch.randint(0, cfg.timesteps, (cfg.batch_size,))
        noise = torch.randn_like(x0)
        a = abar[t][:, None]
        xt = a.sqrt() * x0 + (1 - a).sqrt() * noise
        loss = F.mse_loss(model(xt, t), noise)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        ema_update(averaged, model, cfg.ema_decay)
        if step % 100 == 0 or step == args.steps - 1:
            with torch.no_grad():
                ema_loss = F.mse_loss(averaged(xt, t), noise).item()
            print(f"step {step} loss {loss.item():.6f} ema_loss {ema_loss:.6f}")


if __name__ == "__main__":
    main()
