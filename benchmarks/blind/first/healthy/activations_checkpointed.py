"""Blocks with dropout are run again in backward."""

import argparse

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.body = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU(), nn.Dropout(0.1), nn.Linear(dim, dim))

    def forward(self, x):
        return x + self.body(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.leave = nn.Linear(10, 32), nn.Linear(32, 2)
        self.blocks = nn.ModuleList(Block(32) for _ in range(3))

    def forward(self, x):
        x = self.enter(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.training else block(x)
        return self.leave(x)


net = Net()
optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr)
for step in range(args.steps):
    x = torch.randn(48, 10)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] > x[:, 1]).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
net.eval()
with torch.no_grad():
    net(x)
print(f"loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
