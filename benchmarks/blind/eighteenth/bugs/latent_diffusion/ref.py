"""Latent diffusion on the 8x8 digits: first-stage autoencoder, then a DDPM on its latents."""
import argparse
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

T = 100


@dataclass
class LatentConfig:
    scaling_factor: float = 1.0
    shift_factor: float = 0.0


class AutoEncoder(nn.Module):
    def __init__(self, dim=64, latent=8, width=96):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(dim, width), nn.ReLU(), nn.Linear(width, latent), nn.Softplus())
        self.dec = nn.Sequential(nn.Linear(latent, width), nn.ReLU(), nn.Linear(width, dim))
        self.config = LatentConfig()

    def encode(self, x):
        return self.enc(x)

    def decode(self, z):
        return self.dec(z)


class Denoiser(nn.Module):
    def __init__(self, latent=8, width=128):
        super().__init__()
        self.t_embed = nn.Embedding(T, 32)
        self.net = nn.Sequential(
            nn.Linear(latent + 32, width), nn.SiLU(),
            nn.Linear(width, width), nn.SiLU(), nn.Linear(width, latent))

    def forward(self, z, t):
        return self.net(torch.cat([z, self.t_embed(t)], 1))


class Schedule:
    def __init__(self):
        self.betas = torch.linspace(1e-3, 0.12, T)
        self.alphas = 1.0 - self.betas
        self.abar = self.alphas.cumprod(0)

    def add_noise(self, z, noise, t):
        a = self.abar[t][:, None]
        return a.sqrt() * z + (1.0 - a).sqrt() * noise

    def step(self, z, eps, t):
        mean = (z - self.betas[t] / (1.0 - self.abar[t]).sqrt() * eps) / self.alphas[t].sqrt()
        return mean + self.betas[t].sqrt() * torch.randn_like(z) if t > 0 else mean


def train_first_stage(vae, data, steps=400, lr=3e-3):
    opt = torch.optim.Adam(vae.parameters(), lr=lr)
    for _ in range(steps):
        x = data[torch.randint(0, len(data), (128,))]
        loss = F.mse_loss(vae.decode(vae.encode(x)), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
    vae.requires_grad_(False)
    z = vae.encode(data)
    vae.config = LatentConfig(scaling_factor=(1.0 / z.std()).item(), shift_factor=z.mean().item())
    print(f"first stage mse {loss.item():.4f} {vae.config}")


@torch.no_grad()
def sample(model, vae, schedule, n):
    z = torch.randn(n, 8)
    for t in reversed(range(T)):
        z = schedule.step(z, model(z, torch.full((n,), t)), t)
    z = z / vae.config.scaling_factor + vae.config.shift_factor
    return vae.decode(z)


def frechet(a, b, k=16):
    """Diagonal Frechet distance in the leading PCA directions of b."""
    mu = b.mean(0)
    _, _, v = torch.linalg.svd(b - mu, full_matrices=False)
    a, b = (a - mu) @ v[:k].T, (b - mu) @ v[:k].T
    return ((a.mean(0) - b.mean(0)) ** 2 + (a.std(0) - b.std(0)) ** 2).sum().item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--steps", type=int, default=120)
    p.add_argument("--batch-size", type=int, default=256)
    args = p.parse_args()
    torch.manual_seed(args.seed)

    data = torch.tensor(load_digits().data, dtype=torch.float32) / 16.0
    vae = AutoEncoder()
    train_first_stage(vae, data)

    model, schedule = Denoiser(), Schedule()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        x = data[torch.randint(0, len(data), (args.batch_size,))]
        latents = vae.encode(x)
        latents = (latents - vae.config.shift_factor) * vae.config.scaling_factor
        noise = torch.randn_like(latents)
        t = torch.randint(0, T, (len(latents),))
        pred = model(schedule.add_noise(latents, noise, t), t)
        loss = F.mse_loss(pred, noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step:4d} loss {loss.item():.4f}")

    fake = sample(model, vae, schedule, 1000)
    print(f"EVIDENCE frechet={frechet(fake, data):.4f} mean_pixel={fake.mean().item():.4f} real_pixel={data.mean().item():.4f}")


if __name__ == "__main__":
    main()
