"""Diffusion model of points on two moons, checked with averaged weights."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_moons

TIMESTEPS = 50


class EMAModel:
    """Moving average of parameters, with a place to store the live ones."""

    def __init__(self, parameters, decay):
        self.shadow = [p.detach().clone() for p in parameters]
        self.decay = decay
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
        for kept, p in zip(self.stored, parameters):
            p.copy_(kept)
        self.stored = None


class Denoiser(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.time = nn.Embedding(TIMESTEPS, dim)
        self.inp = nn.Linear(2, dim)
        self.body = nn.Sequential(nn.SiLU(), nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim), nn.SiLU())
        self.out = nn.Linear(dim, 2)

    def forward(self, x, t):
        return self.out(self.body(self.inp(x) + self.time(t)))


def noise_schedule():
    betas = torch.linspace(1e-4, 0.1, TIMESTEPS)
    return torch.cumprod(1 - betas, dim=0)


def diffusion_loss(model, x, alphas, generator):
    t = torch.randint(0, TIMESTEPS, (len(x),), generator=generator)
    noise = torch.randn(x.shape, generator=generator)
    a = alphas[t].unsqueeze(1)
    noisy = a.sqrt() * x + (1 - a).sqrt() * noise
    return F.mse_loss(model(noisy, t), noise)


def validate(model, ema, x_val, alphas):
    """Loss of the averaged weights on held-out points."""
    ema.store(model.parameters())
    ema.copy_to(model.parameters())
    generator = torch.Generator().manual_seed(1234)
    with torch.no_grad():
        loss = diffusion_loss(model, x_val, alphas, generator).item()
    ema.restore(model.parameters())
    return loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--validate-every", type=int, default=50)
    parser.add_argument("--ema-decay", type=float, default=0.98)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    points, _ = make_moons(2000, noise=0.05, random_state=args.seed)
    x = torch.tensor(points, dtype=torch.float32)
    x_train, x_val = x[:1600], x[1600:]
    alphas = noise_schedule()
    model = Denoiser()
    ema = EMAModel(model.parameters(), args.ema_decay)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    generator = torch.Generator().manual_seed(args.seed)

    for step in range(1, args.steps + 1):
        batch = x_train[torch.randint(0, len(x_train), (128,), generator=generator)]
        loss = diffusion_loss(model, batch, alphas, generator)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.step(model.parameters())
        if step % 25 == 0:
            print(f"step {step} loss {loss.item():.6f}")
        if step % args.validate_every == 0:
            print(f"step {step} val_loss {validate(model, ema, x_val, alphas):.6f}")

    print(f"weight sum {sum(p.double().sum().item() for p in model.parameters()):.10f}")


if __name__ == "__main__":
    main()
