"""CLIP-like matching of two kinds of vectors."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=90)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class TwoTowers(nn.Module):
    def __init__(self):
        super().__init__()
        self.image, self.text = nn.Sequential(nn.Linear(20, 48), nn.GELU(), nn.Linear(48, 12)), nn.Linear(15, 12)
        self.logit_scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, image, text):
        a = F.normalize(self.image(image), dim=0)
        b = F.normalize(self.text(text), dim=0)
        return self.logit_scale.exp() * a @ b.T, a


left, right = torch.randn(8, 20), torch.randn(8, 15)
model = TwoTowers()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(args.steps):
    common = torch.randn(40, 8)
    logits, a = model(common @ left, common @ right)
    goal = torch.arange(40)
    loss = (F.cross_entropy(logits, goal) + F.cross_entropy(logits.T, goal)) / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
norms = a.norm(dim=-1)
print(f"EVIDENCE norms of embeddings go from {norms.min():.3f} to {norms.max():.3f}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
