"""Vector quantisation with a codebook that follows running means; codes that nobody uses start anew."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class EMAQuantizer(nn.Module):
    def __init__(self, n=16, dim=4, decay=0.9):
        super().__init__()
        self.decay = decay
        self.register_buffer("embedding", torch.randn(n, dim))
        self.register_buffer("cluster_size", torch.ones(n))
        self.register_buffer("embedding_sum", self.embedding.clone())

    def forward(self, z):
        index = torch.cdist(z, self.embedding).argmin(1)
        quantised = F.embedding(index, self.embedding)
        if self.training:
            with torch.no_grad():
                one_hot = F.one_hot(index, len(self.embedding)).float()
                self.cluster_size.mul_(self.decay).add_(one_hot.sum(0), alpha=1 - self.decay)
                self.embedding_sum.mul_(self.decay).add_(one_hot.t() @ z, alpha=1 - self.decay)
                self.embedding.copy_(self.embedding_sum / (self.cluster_size[:, None] + 1e-5))
                dead = self.cluster_size < 0.3
                if dead.any():
                    fresh = z[torch.randint(0, len(z), (int(dead.sum()),))]
                    self.embedding[dead], self.embedding_sum[dead], self.cluster_size[dead] = fresh, fresh, 1.0
        commitment = F.mse_loss(z, quantised.detach())
        return z + (quantised - z).detach(), commitment


torch.manual_seed(args.seed)
torch.set_num_threads(1)
encoder, quantizer, decoder = nn.Linear(10, 4), EMAQuantizer(), nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 10))
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=args.lr)
centres = torch.randn(6, 10)
for step in range(args.steps):
    x = centres[torch.randint(0, 6, (48,))] + 0.1 * torch.randn(48, 10)
    quantised, commitment = quantizer(encoder(x))
    recon = F.mse_loss(decoder(quantised), x)
    optimizer.zero_grad()
    (recon + 0.25 * commitment).backward()
    optimizer.step()
print(f"reconstruction {recon:.3f}, smallest cluster {quantizer.cluster_size.min():.3f}")

# SPDX-License-Identifier: Apache-2.0
