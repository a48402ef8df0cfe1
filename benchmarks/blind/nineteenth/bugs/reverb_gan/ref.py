"""Conditional GAN with a reconstruction term: room parameters in, impulse response curve out."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

T, Z, COND = 32, 8, 3


def sample_rooms(n, gen):
    """Decaying echoes; the phase of the echo pattern is not determined by the condition."""
    cond = torch.rand(n, COND, generator=gen)
    t = torch.linspace(0, 1, T)
    decay = torch.exp(-(2 + 4 * cond[:, :1]) * t)
    freq = 3 + 3 * cond[:, 1:2]
    phase = torch.where(torch.rand(n, 1, generator=gen) < 0.5, 0.0, 3.14159)
    wave = torch.sin(2 * 3.14159 * freq * t + phase) * decay * (0.6 + 0.4 * cond[:, 2:3])
    return cond, wave + 0.02 * torch.randn(n, T, generator=gen)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(COND + Z, 128), nn.LeakyReLU(0.2), nn.Linear(128, 128), nn.LeakyReLU(0.2),
                                 nn.Linear(128, T), nn.Tanh())

    def forward(self, cond, z):
        return self.net(torch.cat([cond, z], 1))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(COND + T, 128), nn.LeakyReLU(0.2), nn.Linear(128, 64), nn.LeakyReLU(0.2),
                                 nn.Linear(64, 1))

    def forward(self, wave, cond):
        return self.net(torch.cat([wave, cond], 1))


class EchoGAN:
    def __init__(self, lr, l1_weight=0.5):
        self.g, self.d = Generator(), Discriminator()
        self.l1_weight = l1_weight
        self.g_opt = torch.optim.Adam(self.g.parameters(), lr=lr, betas=(0.5, 0.9))
        self.d_opt = torch.optim.Adam(self.d.parameters(), lr=lr, betas=(0.5, 0.9))

    def discriminator_step(self, cond, real):
        fake = self.g(cond, torch.randn(len(cond), Z))
        d_fake = self.d(fake.detach(), cond)
        d_real = self.d(real, cond)
        loss = 0.5 * (F.mse_loss(d_fake, torch.zeros_like(d_fake)) + F.mse_loss(d_real, torch.ones_like(d_real)))
        self.d_opt.zero_grad()
        loss.backward()
        self.d_opt.step()
        return loss.item(), d_real.mean().item()

    def generator_step(self, cond, real):
        fake = self.g(cond, torch.randn(len(cond), Z))
        d_fake = self.d(fake, cond)
        adv = F.mse_loss(d_fake, torch.ones_like(d_fake))
        rec = F.l1_loss(fake, real)
        loss = adv + self.l1_weight * rec
        self.g_opt.zero_grad()
        loss.backward()
        self.g_opt.step()
        return loss.item(), rec.item()


def energy_distance(x, y):
    xy, xx, yy = torch.cdist(x, y).mean(), torch.cdist(x, x).mean(), torch.cdist(y, y).mean()
    return (2 * xy - xx - yy).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1.5e-3)
    ap.add_argument("--steps", type=int, default=100, help="each step is 12 pairs of updates")
    ap.add_argument("--batch", type=int, default=128)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 9)
    gan = EchoGAN(args.lr)

    for step in range(args.steps):
        for _ in range(12):
            cond, real = sample_rooms(args.batch, gen)
            d_loss, d_real = gan.discriminator_step(cond, real)
            g_loss, rec = gan.generator_step(cond, real)
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step:3d} d_loss {d_loss:.4f} d_real {d_real:.3f} g_loss {g_loss:.4f} l1 {rec:.4f}")

    with torch.no_grad():
        cond, real = sample_rooms(1500, torch.Generator().manual_seed(31))
        fake = gan.g(cond, torch.randn(1500, Z))
    print(f"EVIDENCE energy_distance={energy_distance(fake, real):.4f} "
          f"power_ratio={(fake.pow(2).mean() / real.pow(2).mean()).item():.4f}")


if __name__ == "__main__":
    main()
