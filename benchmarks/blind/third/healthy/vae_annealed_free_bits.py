"""A variational autoencoder with cyclical annealing and free bits."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class VAE(nn.Module):
    def __init__(self, latent=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 32), nn.ReLU())
        self.mu, self.logvar = nn.Linear(32, latent), nn.Linear(32, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 32), nn.ReLU(), nn.Linear(32, 12))

    def forward(self, x):
        h = self.encoder(x)
        mu, logvar = self.mu(h), self.logvar(h).clamp(-6, 2)
        z = mu + (0.5 * logvar).exp() * torch.randn_like(mu) if self.training else mu
        return self.decoder(z), mu, logvar


def beta(step, period=20):
    return min(1.0, 2 * (step % period) / period)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model, basis = VAE(), torch.randn(3, 12)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(args.steps):
    x = torch.randn(48, 3) @ basis
    recon, mu, logvar = model(x)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).mean(0)
    loss = F.mse_loss(recon, x) + beta(step) * kl.clamp(min=0.05).sum()
    if not torch.isfinite(loss):
        continue
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 15 == 14:
        model.eval()
        with torch.no_grad():
            samples = model.decoder(torch.randn(8, 4))
            deterministic = F.mse_loss(model(x)[0], x)
        model.train()
print(f"loss {loss:.3f}, reconstruction {deterministic:.3f}, spread of samples {samples.std():.3f}")

# SPDX-License-Identifier: Apache-2.0
