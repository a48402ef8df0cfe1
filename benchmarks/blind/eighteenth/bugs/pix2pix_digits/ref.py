"""Conditional GAN that upsamples 4x4 digit thumbnails to 8x8 (L1 + adversarial loss)."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Generator(nn.Module):
    def __init__(self, width=32, z_dim=4):
        super().__init__()
        self.z_dim = z_dim
        self.inp = nn.Conv2d(1 + z_dim, width, 3, padding=1)
        self.mid = nn.Conv2d(width, width, 3, padding=1)
        self.up = nn.Conv2d(width, width, 3, padding=1)
        self.out = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, low, z=None):
        if z is None:
            z = torch.randn(low.size(0), self.z_dim, *low.shape[2:])
        h = F.leaky_relu(self.inp(torch.cat([low, z], 1)), 0.2)
        h = F.leaky_relu(self.mid(h), 0.2)
        h = F.interpolate(h, scale_factor=2, mode="nearest")
        h = F.leaky_relu(self.up(h), 0.2)
        return torch.tanh(self.out(h))


class Discriminator(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(2, width, 3, padding=1), nn.LeakyReLU(0.2),
            nn.Conv2d(width, width * 2, 3, stride=2, padding=1), nn.LeakyReLU(0.2),
            nn.Conv2d(width * 2, 1, 3, padding=1))

    def forward(self, image, low):
        cond = F.interpolate(low, scale_factor=2, mode="nearest")
        return self.body(torch.cat([image, cond], 1))


def load_pairs():
    images = torch.tensor(load_digits().images, dtype=torch.float32)[:, None] / 8.0 - 1.0
    return F.avg_pool2d(images, 2), images


def detail(x):
    """Energy of the high-frequency residual of a batch of images."""
    return (x - F.avg_pool2d(x, 3, stride=1, padding=1)).pow(2).mean().item()


@torch.no_grad()
def evaluate(gen, low, high):
    gen.eval()
    samples = torch.stack([gen(low) for _ in range(8)])
    gen.train()
    return {
        "l1": (samples.mean(0) - high).abs().mean().item(),
        "detail": detail(samples[0]) / detail(high),
        "diversity": samples.std(0).mean().item(),
    }


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=5e-4)
    p.add_argument("--steps", type=int, default=120)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--l1-weight", type=float, default=2.0)
    args = p.parse_args()
    torch.manual_seed(args.seed)

    low, high = load_pairs()
    train_low, train_high = low[:1500], high[:1500]
    test_low, test_high = low[1500:], high[1500:]

    gen, disc = Generator(), Discriminator()
    opt_g = torch.optim.Adam(gen.parameters(), lr=args.lr, betas=(0.5, 0.99))
    opt_d = torch.optim.Adam(disc.parameters(), lr=args.lr, betas=(0.5, 0.99))

    for step in range(args.steps):
        idx = torch.randint(0, len(train_low), (args.batch_size,))
        lo, hi = train_low[idx], train_high[idx]

        # discriminator
        with torch.no_grad():
            fake = gen(lo)
        d_real, d_fake = disc(hi, lo), disc(fake, lo)
        d_loss = F.mse_loss(d_real, torch.ones_like(d_real)) + F.mse_loss(d_fake, torch.zeros_like(d_fake))
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()

        # generator
        fake = gen(lo)
        d_fake = disc(fake, lo)
        adv_loss = F.mse_loss(d_fake, torch.ones_like(d_fake))
        rec_loss = F.l1_loss(fake, hi)
        g_loss = adv_loss + args.l1_weight * rec_loss
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()

        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step:4d} d {d_loss.item():.4f} adv {adv_loss.item():.4f} l1 {rec_loss.item():.4f}")

    m = evaluate(gen, test_low, test_high)
    print(f"EVIDENCE detail_ratio={m['detail']:.4f} diversity={m['diversity']:.4f} l1={m['l1']:.4f}")


if __name__ == "__main__":
    main()
