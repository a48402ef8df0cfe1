"""Gradient reversal and a clipped identity as functions of one's own."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.strength * grad, None


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad.clamp(-0.01, 0.01)


features, label, domain = nn.Sequential(nn.Linear(8, 32), nn.ReLU()), nn.Linear(32, 2), nn.Linear(32, 2)
optimizer = torch.optim.SGD([*features.parameters(), *label.parameters(), *domain.parameters()], lr=args.lr, momentum=0.9)
for step in range(args.steps):
    source, target = torch.randn(32, 8), torch.randn(32, 8) + 0.5
    z = Clip.apply(features(torch.cat([source, target])))
    where = torch.cat([torch.zeros(32), torch.ones(32)]).long()
    strength = 2 / (1 + 2.718 ** (-10 * step / args.steps)) - 1
    loss = nn.functional.cross_entropy(label(z[:32]), (source[:, 0] > 0).long())
    loss = loss + nn.functional.cross_entropy(domain(Reverse.apply(z, strength)), where)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
