"""SimSiam: a predictor learns the other view's projection, which gets no gradient."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class SimSiam(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Sequential(nn.Linear(16, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 12))
        self.predict = nn.Sequential(nn.Linear(12, 6), nn.ReLU(), nn.Linear(6, 12))

    def forward(self, one, two):
        z1, z2 = self.project(one), self.project(two)
        p1, p2 = self.predict(z1), self.predict(z2)
        return p1, p2, z1, z2


model = SimSiam()
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
for step in range(args.steps):
    x = torch.randn(64, 16)
    p1, p2, z1, z2 = model(x + 0.2 * torch.randn_like(x), x + 0.2 * torch.randn_like(x))
    loss = -(F.cosine_similarity(p1, z2).mean() + F.cosine_similarity(p2, z1).mean()) / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
spread = F.normalize(z1, dim=1).std(0).mean()
print(f"EVIDENCE spread of the projections {spread:.4f} (0.289 if even), loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
