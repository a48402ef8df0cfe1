"""A variational autoencoder of synthetic spectra; the divergence is summed, averaged over the batch."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=200)
args = parser.parse_args()
BINS, LATENT = 40, 4


class VAE(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(BINS, width), nn.ReLU(), nn.Linear(width, 2 * LATENT))
        self.decoder = nn.Sequential(nn.Linear(LATENT, width), nn.ReLU(), nn.Linear(width, BINS))

    def reparameterise(self, mean, logvar):
        noise = torch.randn_like(mean)
        return mean + noise * torch.exp(logvar)

    def forward(self, x):
        mean, logvar = self.encoder(x).chunk(2, -1)
        latent = self.reparameterise(mean, logvar)
        return self.decoder(latent), mean, logvar, latent


def spectra(count):
    grid = torch.linspace(0, 1, BINS)
    centre, height = torch.rand(count, 2, 1), 0.5 + torch.rand(count, 2, 1)
    return (height * torch.exp(-((grid - centre) / 0.08) ** 2)).sum(1)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
data = spectra(1024)
loader = DataLoader(TensorDataset(data), batch_size=64, shuffle=True)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
step = 0
while step < args.steps:
    for x, in loader:
        output, mean, logvar, _ = model(x)
        error = 10 * (output - x).square().sum(1).mean()
        divergence = -0.5 * (1 + logvar - mean.square() - logvar.exp()).sum(1).mean()
        loss = error + divergence
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 40 == 0:
            print(f"step {step}: error {error.item():.3f}, divergence {divergence.item():.3f}")
        if step == args.steps:
            break
model.eval()
with torch.no_grad():
    _, mean, logvar, _ = model(data)
    drawn = torch.stack([model(data)[3] for _ in range(50)])
ratio = (drawn.std(0) / torch.exp(0.5 * logvar)).mean()
print(f"EVIDENCE latents spread {ratio:.3f} times as far as the divergence says")

# SPDX-License-Identifier: Apache-2.0
