"""A residual network whose blocks are left out at random, deeper ones more often."""

import argparse
import random

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class DropPathNet(nn.Module):
    def __init__(self, depth=4, dim=24, worst=0.4):
        super().__init__()
        self.stem, self.head = nn.Linear(8, dim), nn.Linear(dim, 1)
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU()) for _ in range(depth))
        self.rates = [worst * (i + 1) / depth for i in range(depth)]

    def forward(self, x):
        x = self.stem(x)
        for block, rate in zip(self.blocks, self.rates):
            if self.training:
                if random.random() < rate:
                    continue
                x = x + block(x) / (1 - rate)
            else:
                x = x + block(x)
        return self.head(x)


random.seed(args.seed)
torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = DropPathNet()
decay = [p for p in model.parameters() if p.ndim > 1]
rest = [p for p in model.parameters() if p.ndim <= 1]
optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.05}, {"params": rest, "weight_decay": 0.0}], lr=args.lr)
for step in range(args.steps):
    x = torch.randn(32, 8)
    y = x[:, :1] * x[:, 1:2] + x[:, 2:3]
    loss = nn.functional.mse_loss(model.train()(x), y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        with torch.no_grad():
            error = nn.functional.mse_loss(model.eval()(x), y)
print(f"loss {loss:.3f}, whole network {error:.3f}")

# SPDX-License-Identifier: Apache-2.0
