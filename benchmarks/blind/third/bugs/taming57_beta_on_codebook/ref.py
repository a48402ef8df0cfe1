"""An autoencoder of small signals with a vector-quantised bottleneck."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class VectorQuantizer(nn.Module):
    def __init__(self, n_codes=32, dim=8, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(n_codes, dim)
        nn.init.normal_(self.codebook.weight, std=0.5)
        self.beta = beta

    def forward(self, z):
        distance = torch.cdist(z, self.codebook.weight)
        index = distance.argmin(1)
        z_q = self.codebook(index)
        codebook_loss = F.mse_loss(z_q, z.detach())
        commitment_loss = F.mse_loss(z, z_q.detach())
        vq_loss = codebook_loss + self.beta * commitment_loss
        z_q = z + (z_q - z).detach()
        return z_q, vq_loss, index


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 8), nn.LayerNorm(8))
        self.quantizer = VectorQuantizer()
        self.decoder = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 24))

    def forward(self, x):
        z_q, vq_loss, index = self.quantizer(self.encoder(x))
        return self.decoder(z_q), vq_loss, index


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = VQVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
basis = torch.randn(5, 24)
for step in range(args.steps):
    x = torch.randn(64, 5) @ basis / 2
    recon, vq_loss, index = model(x)
    loss = F.mse_loss(recon, x) + vq_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
moved = model.quantizer.codebook.weight.grad.norm()
print(f"EVIDENCE loss {loss:.4f}, gradient of the codebook {moved:.5f}, codes in use {index.unique().numel()}")

# Idea from CompVis/taming-transformers#57, bytedance/1d-tokenizer#120
# SPDX-License-Identifier: Apache-2.0
