"""A variational autoencoder with a learned prior scale, trained on a ring of points."""

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


class VAE(nn.Module):
    def __init__(self, inputs=16, hidden=48, latent=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.Tanh(), nn.Linear(hidden, inputs))
        self.latent = latent

    def encode(self, x):
        return self.encoder(x).chunk(2, dim=-1)

    def forward(self, x):
        mean, logvar = self.encode(x)
        z = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        return self.decoder(z), mean, logvar


def reconstruction(recon, x):
    """Gaussian with variance 1, in nats for a sample."""
    return 0.5 * ((recon - x) ** 2).sum(-1).mean()


def divergence(mean, logvar):
    terms = -0.5 * (1 + logvar - mean**2 - logvar.exp())
    return terms.mean(-1).mean()


def points(n, mixing, generator):
    angle = torch.rand(n, generator=generator) * 2 * math.pi
    ring = torch.stack([angle.cos(), angle.sin(), (2 * angle).cos()], 1) * 2
    return ring @ mixing + 0.3 * torch.randn(n, 16, generator=generator)


def train():
    generator = torch.Generator().manual_seed(args.seed)
    mixing = torch.randn(3, 16, generator=generator) / 3**0.5
    data = points(1024, mixing, generator)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        x = data[torch.randint(0, len(data), (128,), generator=generator)]
        recon, mean, logvar = model(x)
        fit, kl = reconstruction(recon, x), divergence(mean, logvar)
        loss = fit + kl
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 15 == 0:
            print(f"{step:3d} loss {loss:.3f} fit {fit:.3f} kl {kl:.3f}")
    return model, data, loss


model, data, loss = train()
with torch.no_grad():
    mean, logvar = model.encode(data)
    spread = (mean.var(0) + logvar.exp().mean(0)).mean()
    nats = (-0.5 * (1 + logvar - mean**2 - logvar.exp())).sum(-1).mean()
print(f"EVIDENCE the posterior is {nats:.2f} nats from its prior, its variance {spread:.2f} where 1 is right; loss {loss:.3f}")

# Idea from maxhodak/keras-molecules#59, podgorskiy/VAE#1
# SPDX-License-Identifier: Apache-2.0
