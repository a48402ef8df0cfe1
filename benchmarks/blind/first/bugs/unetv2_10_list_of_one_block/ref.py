"""A residual net of four blocks."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class Residual(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.body = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim))

    def forward(self, x):
        return x + self.body(x)


class Net(nn.Module):
    def __init__(self, dim=24, depth=4):
        super().__init__()
        self.enter, self.leave = nn.Linear(12, dim), nn.Linear(dim, 1)
        self.blocks = nn.ModuleList([Residual(dim) for _ in range(depth)])

    def forward(self, x):
        x = self.enter(x)
        for block in self.blocks:
            x = block(x)
        return self.leave(x)


net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=args.lr)
for step in range(args.steps):
    x = torch.randn(64, 12)
    loss = nn.functional.mse_loss(net(x), x[:, :4].prod(1, keepdim=True))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"EVIDENCE {sum(p.numel() for p in net.parameters())} parameters, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
