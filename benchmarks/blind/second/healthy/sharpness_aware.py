"""Two forwards and backwards for a step: up to a worse point, its gradient, back and down; norms keep their statistics in the second."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base = base(self.param_groups, **kwargs)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def ascend(self):
        norm = torch.stack([p.grad.norm() for g in self.param_groups for p in g["params"]]).norm()
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["away"] = p.grad * (group["rho"] / (norm + 1e-12))
                p.add_(self.state[p]["away"])
        self.zero_grad()

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(self.state[p].pop("away"))
        self.base.step()
        self.zero_grad()


def statistics(model, kept):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm1d):
            m.momentum = 0.1 if kept else 0.0


model = nn.Sequential(nn.Linear(10, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 3))
optimizer = SAM(model.parameters(), torch.optim.SGD, lr=args.lr, momentum=0.9)
for step in range(args.steps):
    x = torch.randn(64, 10)
    y = (x[:, 0] > 0).long() + (x[:, 1] * x[:, 2] > 0).long()
    statistics(model, True)
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.ascend()
    statistics(model, False)
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")

# SPDX-License-Identifier: Apache-2.0
