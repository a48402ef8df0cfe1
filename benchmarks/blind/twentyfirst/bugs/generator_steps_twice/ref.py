"""A GAN for profiles of dunes; each network has an optimizer of its own, kept in one dictionary."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

POINTS, NOISE = 24, 8


def dunes(n, gen):
    s = torch.linspace(-1, 1, POINTS)
    crest = torch.rand(n, 1, generator=gen) - 0.5
    height = 0.5 + torch.rand(n, 1, generator=gen)
    windward = height * (-((s - crest) / 0.6).pow(2)).exp()
    lee = height * (-((s - crest) / 0.2).pow(2)).exp()
    return torch.where(s < crest, windward, lee) + 0.02 * torch.randn(n, POINTS, generator=gen)


class DuneGAN(nn.Module):
    def __init__(self, lr, width=64):
        super().__init__()
        self.generator = nn.Sequential(nn.Linear(NOISE, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, POINTS))
        self.discriminator = nn.Sequential(nn.Linear(POINTS, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2), nn.Linear(width, 1))
        self.optimizer = {
            "generator": torch.optim.Adam(self.generator.parameters(), lr=lr, betas=(0.5, 0.99)),
            "discriminator": torch.optim.Adam(self.discriminator.parameters(), lr=lr, betas=(0.5, 0.99)),
        }

    def train_step(self, real, gen):
        self.optimizer["generator"].zero_grad()
        fake = self.generator(torch.randn(len(real), NOISE, generator=gen))
        generator_loss = F.softplus(-self.discriminator(fake)).mean()
        generator_loss.backward()
        self.optimizer["generator"].step()

        self.optimizer["discriminator"].zero_grad()
        on_real, on_fake = self.discriminator(real), self.discriminator(fake.detach())
        discriminator_loss = F.softplus(-on_real).mean() + F.softplus(on_fake).mean()
        discriminator_loss.backward()
        self.optimizer["discriminator"].step()
        return generator_loss.item(), discriminator_loss.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--steps", type=int, default=400)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    gan = DuneGAN(args.lr)
    start = {k: torch.cat([p.detach().flatten() for p in getattr(gan, k).parameters()]) for k in ("generator", "discriminator")}
    for step in range(args.steps):
        g_loss, d_loss = gan.train_step(dunes(64, gen), gen)
        if step % 100 == 0:
            print(f"step {step} generator {g_loss:.4f} discriminator {d_loss:.4f}")
    moved = {k: (torch.cat([p.detach().flatten() for p in getattr(gan, k).parameters()]) - v).norm().item() for k, v in start.items()}
    with torch.no_grad():
        fake = gan.generator(torch.randn(512, NOISE, generator=gen))
    off = (fake.mean(0) - dunes(512, gen).mean(0)).abs().mean().item()
    print(f"EVIDENCE moved_generator={moved['generator']:.3f} moved_discriminator={moved['discriminator']:.3f} mean_profile_off={off:.4f}")


if __name__ == "__main__":
    main()
