"""Two views, a predictor, a target that follows at a momentum which rises to one; no negatives."""

import argparse
import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=50)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(20, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 24))
        self.projector = nn.Sequential(nn.Linear(24, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 16))

    def forward(self, x):
        return self.projector(self.encoder(x))


def augment(x):
    keep = (torch.rand_like(x) > 0.2).float()
    return x * keep * (0.8 + 0.4 * torch.rand(len(x), 1)) + 0.1 * torch.randn_like(x)


online = Branch()
predictor = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16))
target = copy.deepcopy(online).requires_grad_(False)
learned = list(online.parameters()) + list(predictor.parameters())
optimizer = torch.optim.SGD(learned, lr=args.lr, momentum=0.9, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
basis = torch.randn(5, 20)
for step in range(args.steps):
    x = torch.randn(64, 5) @ basis
    one, two = augment(x), augment(x)
    p1, p2 = predictor(online(one)), predictor(online(two))
    with torch.no_grad():
        z1, z2 = target(one), target(two)
    loss = 2 - F.cosine_similarity(p1, z2).mean() - F.cosine_similarity(p2, z1).mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    scheduler.step()
    momentum = 1 - 0.05 * (math.cos(math.pi * step / args.steps) + 1) / 2
    with torch.no_grad():
        for t, o in zip(target.parameters(), online.parameters()):
            t.lerp_(o, 1 - momentum)
print(f"loss {loss.item():.4f}, deviation of the embedding {F.normalize(z1, dim=1).std(0).mean():.3f}")

# SPDX-License-Identifier: Apache-2.0
