"""Tokens of images by a codebook that learns by gradients."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class Quantizer(nn.Module):
    def __init__(self, n=24, dim=6):
        super().__init__()
        self.codebook = nn.Parameter(torch.randn(n, dim) * 0.2)

    def forward(self, z):
        index = torch.cdist(z, self.codebook).argmin(-1)
        z_q = self.codebook[index]
        z_q = z + (z_q - z).detach()
        encoding_loss = F.mse_loss(z, z_q.detach())
        codebook_loss = F.mse_loss(z_q, z.detach())
        return z_q, codebook_loss + 0.25 * encoding_loss


torch.manual_seed(args.seed)
torch.set_num_threads(1)
encoder = nn.Sequential(nn.Conv1d(1, 16, 4, 4), nn.ReLU(), nn.Conv1d(16, 6, 1))
quantizer = Quantizer()
decoder = nn.Sequential(nn.Conv1d(6, 16, 1), nn.ReLU(), nn.ConvTranspose1d(16, 1, 4, 4))
parameters = [*encoder.parameters(), *quantizer.parameters(), *decoder.parameters()]
optimizer = torch.optim.Adam(parameters, lr=args.lr)
before = quantizer.codebook.detach().clone()
for step in range(args.steps):
    phase = torch.rand(16, 1, 1) * 6.28
    x = torch.sin(torch.arange(32) * 0.5 + phase)
    z = encoder(x).transpose(1, 2)
    z_q, extra = quantizer(z)
    loss = F.mse_loss(decoder(z_q.transpose(1, 2)), x) + extra
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
moved = (quantizer.codebook - before).norm().item()
print(f"EVIDENCE the codebook moved by {moved:.4f}, loss {loss:.4f}")

# Idea from andylolu2/jax-vqvae-gpt#2
# SPDX-License-Identifier: Apache-2.0
