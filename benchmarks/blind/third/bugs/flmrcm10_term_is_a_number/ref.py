"""Reconstruction at one site, with features that are to look like those of another site."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))
        self.decoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))

    def forward(self, x):
        z = self.encoder(x)
        return self.decoder(z), z


def align(z, other):
    return (z.mean(0) - other.mean(0)).pow(2).sum() + (z.std(0) - other.std(0)).pow(2).sum()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Autoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
basis = torch.randn(6, 16)
epoch_adv = []
for step in range(args.steps):
    source = torch.randn(32, 6) @ basis / 2
    target = torch.randn(32, 6) @ basis / 2 + 1.5
    recon, z = model(source)
    recon_target, z_target = model(target)
    loss_recon = nn.functional.mse_loss(recon, source) + nn.functional.mse_loss(recon_target, target)
    loss_adv = align(z, z_target)
    epoch_adv.append(loss_adv.item())
    loss = loss_recon + 0.5 * loss_adv
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"EVIDENCE distance of the sites {epoch_adv[0]:.3f} to {epoch_adv[-1]:.3f}, reconstruction {loss_recon:.3f}")

# Idea from guopengf/FL-MRCM#10
# SPDX-License-Identifier: Apache-2.0
