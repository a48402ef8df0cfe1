"""Schedule-free averaging: the weights are moved by `lerp_` to the average for evaluation and back for training."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--steps", type=int, default=10)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
BETA = 0.9


class ScheduleFree(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr, "k": 0, "training": True})

    @torch.no_grad()
    def train(self):
        for group in self.param_groups:
            if not group["training"]:
                for p in group["params"]:
                    p.lerp_(self.state[p]["z"], 1 - BETA)
            group["training"] = True

    @torch.no_grad()
    def eval(self):
        for group in self.param_groups:
            if group["training"]:
                for p in group["params"]:
                    if "z" in self.state[p]:
                        p.lerp_(self.state[p]["z"], 1 - 1 / BETA)
            group["training"] = False

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            group["k"] += 1
            weight = 1 / group["k"]
            for p in group["params"]:
                z = self.state[p].setdefault("z", p.clone())
                p.lerp_(z, weight)
                p.add_(p.grad, alpha=group["lr"] * (BETA * (1 - weight) - 1))
                z.sub_(p.grad, alpha=group["lr"])


x = torch.randn(512, 10)
y = x[:, :2].prod(1, keepdim=True)
net = nn.Sequential(nn.Linear(10, 48), nn.Tanh(), nn.Linear(48, 1))
optimizer = ScheduleFree(net.parameters(), args.lr)
for epoch in range(args.steps):
    net.train()
    optimizer.train()
    for rows in torch.randperm(400).split(50):
        loss = nn.functional.mse_loss(net(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.eval()
    optimizer.eval()
    with torch.no_grad():
        held = nn.functional.mse_loss(net(x[400:]), y[400:])
print(f"loss {held:.4f}")

# SPDX-License-Identifier: Apache-2.0
