"""A variational autoencoder for points on two arcs; samples come from a normal prior."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=220)
args = parser.parse_args()


class Autoencoder(nn.Module):
    def __init__(self, latent=2, width=48):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(2, width), nn.ReLU(), nn.Linear(width, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2))
        self.latent = latent

    def reparametrise(self, mean, log_variance):
        deviation = torch.exp(0.5 * log_variance)
        return mean + deviation * torch.randn_like(deviation)

    def forward(self, x):
        mean, log_variance = self.encoder(x).chunk(2, dim=1)
        divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(1)
        return self.decoder(self.reparametrise(mean, log_variance)), divergence.mean()

    @torch.no_grad()
    def sample(self, count):
        return self.decoder(torch.randn(count, self.latent))


def arcs(count):
    turn, side = torch.rand(count) * 3.14, torch.randint(2, (count,)).float()
    x = torch.stack([turn.cos() + side, (1 - 2 * side) * turn.sin()], dim=1)
    return x + 0.05 * torch.randn(count, 2)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
data, model = arcs(2000), Autoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for step in range(1, args.steps + 1):
    x = data[torch.randint(len(data), (128,))]
    again, divergence = model(x)
    loss = (again - x).square().sum(1).mean() / 0.1 + divergence
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 55 == 0:
        print(f"step {step}: loss {loss.item():.4f}, divergence {divergence.item():.4f}")
with torch.no_grad():
    off = torch.cdist(model.sample(500), data).amin(1).mean().item()
    shift = (model.sample(2000).mean(0) - data.mean(0)).norm().item()
print(f"EVIDENCE samples are {off:.4f} off the arcs, their mean is {shift:.4f} off")

# SPDX-License-Identifier: Apache-2.0
