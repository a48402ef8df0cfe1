"""Latent flow matching on the 8x8 digits: a small autoencoder, then a velocity model on its latents."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

LATENT = 12


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, LATENT), nn.Softplus())
        self.dec = nn.Sequential(nn.Linear(LATENT, 128), nn.ReLU(), nn.Linear(128, 64))
        self.register_buffer("shift_factor", torch.zeros(()))
        self.register_buffer("scaling_factor", torch.ones(()))

    def encode(self, x):
        return self.enc(x)

    def decode(self, z):
        return self.dec(z)

    @torch.no_grad()
    def fit_latent_stats(self, x):
        z = self.encode(x)
        self.shift_factor.copy_(z.mean())
        self.scaling_factor.copy_(1.0 / z.std())


class Velocity(nn.Module):
    def __init__(self, dim=160):
        super().__init__()
        self.cls = nn.Embedding(10, dim)
        self.time = nn.Sequential(nn.Linear(16, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.inp = nn.Linear(LATENT, dim)
        self.mid = nn.Sequential(nn.SiLU(), nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim), nn.SiLU())
        self.out = nn.Linear(dim, LATENT)

    def forward(self, x, t, y):
        freq = torch.exp(torch.arange(8) * -0.6)
        ang = t[:, None] * 30 * freq
        emb = self.time(torch.cat([ang.sin(), ang.cos()], 1)) + self.cls(y)
        return self.out(self.mid(self.inp(x) + emb))


def train_autoencoder(ae, data, iters=500):
    opt = torch.optim.Adam(ae.parameters(), lr=3e-3)
    for _ in range(iters):
        x = data[torch.randint(0, len(data), (128,))]
        loss = F.mse_loss(ae.decode(ae.encode(x)), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
    ae.fit_latent_stats(data)
    ae.requires_grad_(False)
    print(f"autoencoder mse {loss.item():.4f} shift {ae.shift_factor:.3f} scale {ae.scaling_factor:.3f}")


def training_step(model, ae, images, labels):
    latents = (ae.encode(images) - ae.shift_factor) * ae.scaling_factor
    noise = torch.randn_like(latents)
    sigma = torch.sigmoid(torch.randn(len(latents)))
    noisy = (1 - sigma[:, None]) * latents + sigma[:, None] * noise
    return F.mse_loss(model(noisy, sigma, labels), noise - latents)


@torch.no_grad()
def generate(model, ae, labels, n_steps=25):
    x = torch.randn(len(labels), LATENT)
    grid = torch.linspace(1, 0, n_steps + 1)
    for a, b in zip(grid[:-1], grid[1:]):
        x = x + (b - a) * model(x, a.expand(len(x)), labels)
    return ae.decode(x / ae.scaling_factor + ae.shift_factor)


def sample_quality(samples, labels, data, target):
    """Mean distance to the nearest real image of the same class, and a nearest neighbour class check."""
    dist = torch.cdist(samples, data)
    same = dist.masked_fill(labels[:, None] != target[None], float("inf")).min(1).values.mean().item()
    hit = (target[dist.argmin(1)] == labels).float().mean().item()
    return same, hit


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=100, help="each step is 15 updates")
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    digits = load_digits()
    data = torch.tensor(digits.data, dtype=torch.float32) / 8.0 - 1.0
    target = torch.tensor(digits.target)

    ae, model = AutoEncoder(), Velocity()
    train_autoencoder(ae, data)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=args.steps * 15)
    for step in range(args.steps):
        for _ in range(15):
            idx = torch.randint(0, len(data), (128,))
            loss = training_step(model, ae, data[idx], target[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step:3d} loss {loss.item():.4f}")

    labels = torch.arange(10).repeat(40)
    samples = generate(model, ae, labels)
    dist, hit = sample_quality(samples, labels, data, target)
    print(f"EVIDENCE nearest_same_class={dist:.4f} class_hit={hit:.4f}")


if __name__ == "__main__":
    main()
