"""Speech features by contrast: the context network finds the quantised target of a masked frame among others."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=36)
args = parser.parse_args()


class Quantizer(nn.Module):
    def __init__(self, dim=16, n=20):
        super().__init__()
        self.score, self.codes = nn.Linear(dim, n), nn.Parameter(torch.randn(n, dim))

    def forward(self, x):
        weights = F.gumbel_softmax(self.score(x), tau=1.0, hard=True)
        return weights @ self.codes


class Wav2Vec(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.features = nn.Conv1d(1, dim, 5, stride=3)
        self.mask = nn.Parameter(torch.randn(dim))
        self.context = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.project = nn.Linear(2 * dim, dim)
        self.quantizer = Quantizer(dim)

    def forward(self, wave):
        frames = self.features(wave).transpose(1, 2)
        masked = torch.rand(frames.shape[:2]) < 0.3
        masked[:, 3] = True
        targets = self.quantizer(frames[masked]).detach()
        hidden, _ = self.context(torch.where(masked[..., None], self.mask, frames))
        return self.project(hidden[masked]), targets


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Wav2Vec()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
before = model.quantizer.codes.detach().clone()
for step in range(args.steps):
    t = torch.arange(48) * (0.2 + 0.6 * torch.rand(8, 1, 1))
    wave = torch.sin(t) + 0.1 * torch.randn(8, 1, 48)
    context, targets = model(wave)
    logits = F.cosine_similarity(context[:, None], targets[None], dim=2) / 0.1
    loss = F.cross_entropy(logits, torch.arange(len(logits)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
moved = (model.quantizer.codes - before).norm().item()
print(f"EVIDENCE the codes moved by {moved:.4f}, loss {loss:.3f}")

# Idea from facebookresearch/fairseq2#731
# SPDX-License-Identifier: Apache-2.0
