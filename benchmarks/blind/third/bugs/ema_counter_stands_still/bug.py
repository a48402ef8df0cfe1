"""A classifier with an exponential average of its weights whose decay warms up."""

import argparse
import copy

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class EMA:
    def __init__(self, model, decay=0.99):
        self.shadow = copy.deepcopy(model).requires_grad_(False)
        self.decay, self.num_updates = decay, 0

    @torch.no_grad()
    def update(self, model):
        decay = min(self.decay, (1 + self.num_updates) / (10 + self.num_updates))
        for average, current in zip(self.shadow.parameters(), model.parameters()):
            average.lerp_(current, 1 - decay)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 5))
centres = torch.randn(5, 16)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
ema = EMA(model)
for step in range(args.steps):
    y = torch.randint(0, 5, (32,))
    x = centres[y] + torch.randn(32, 16)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update(model)
apart = sum((a - c).norm() ** 2 for a, c in zip(ema.shadow.parameters(), model.parameters())).sqrt()
print(f"EVIDENCE average and model are {apart:.4f} apart, loss {loss:.3f}")

# SPDX-License-Identifier: Apache-2.0
