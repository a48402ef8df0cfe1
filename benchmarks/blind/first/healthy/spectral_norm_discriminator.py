"""Spectral norm changes buffers in each forward, real and fake in one batch."""

import argparse

import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
disc = nn.Sequential(spectral_norm(nn.Linear(2, 32)), nn.LeakyReLU(0.1), spectral_norm(nn.Linear(32, 1)))
gen = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2))
d_opt = torch.optim.Adam(disc.parameters(), args.lr, betas=(0.0, 0.9))
g_opt = torch.optim.Adam(gen.parameters(), args.lr / 2, betas=(0.0, 0.9))
for step in range(args.steps):
    real, fake = torch.randn(32, 2) * 0.3 + 1, gen(torch.randn(32, 3))
    scores = disc(torch.cat([real, fake.detach()]))
    d_loss = torch.relu(1 - scores[:32]).mean() + torch.relu(1 + scores[32:]).mean()
    d_opt.zero_grad(set_to_none=True)
    d_loss.backward()
    d_opt.step()
    disc.requires_grad_(False)
    g_loss = -disc(fake).mean()
    g_opt.zero_grad(set_to_none=True)
    g_loss.backward()
    g_opt.step()
    disc.requires_grad_(True)
print(f"{d_loss:.4f} {g_loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
