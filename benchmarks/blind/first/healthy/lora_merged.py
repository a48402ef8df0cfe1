"""Low-rank adapters by hand: trained, merged into the frozen weight, made anew and trained again."""

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
class Adapted(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.reset()

    def reset(self):
        self.a = nn.Parameter(torch.randn(4, self.base.in_features) / 4)
        self.b = nn.Parameter(torch.zeros(self.base.out_features, 4))

    def forward(self, x):
        return self.base(x) + (x @ self.a.T) @ self.b.T

    @torch.no_grad()
    def merge(self):
        self.base.weight += self.b @ self.a
        self.reset()


net = nn.Sequential(Adapted(nn.Linear(10, 32)), nn.ReLU(), Adapted(nn.Linear(32, 1)))
for round_ in range(3):
    optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=args.lr)
    for step in range(args.steps // 3):
        x = torch.randn(64, 10)
        loss = nn.functional.mse_loss(net(x), x[:, :3].sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for layer in (net[0], net[2]):
        layer.merge()
print(f"loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
