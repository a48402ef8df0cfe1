"""A layer is put in during training as an identity, a new optimizer takes over."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
class Grower(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.leave = nn.Linear(6, 24), nn.Linear(24, 1)
        self.middle = nn.ModuleList()

    def grow(self):
        layer = nn.Linear(24, 24)
        nn.init.eye_(layer.weight)
        nn.init.zeros_(layer.bias)
        self.middle.append(layer)

    def forward(self, x):
        x = torch.relu(self.enter(x))
        for layer in self.middle:
            x = torch.relu(layer(x))
        return self.leave(x)


net = Grower()
for stage in range(3):
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    for step in range(args.steps // 3):
        x = torch.randn(48, 6)
        loss = nn.functional.mse_loss(net(x), x.abs().max(1, keepdim=True).values)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.grow()
print(f"loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
