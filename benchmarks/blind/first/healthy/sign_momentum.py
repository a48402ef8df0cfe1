"""An optimizer of one's own that moves by signs and adds noise to gradients."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
class SignMomentum(torch.optim.Optimizer):
    def __init__(self, params, lr, beta=0.9, noise=0.01):
        super().__init__(params, {"lr": lr, "beta": beta, "noise": noise})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                mean = self.state[p].setdefault("mean", torch.zeros_like(p))
                mean.lerp_(p.grad + group["noise"] * torch.randn_like(p), 1 - group["beta"])
                p.add_(mean.sign(), alpha=-group["lr"])


net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = SignMomentum(net.parameters(), lr=args.lr)
for step in range(args.steps):
    for group in optimizer.param_groups:
        group["lr"] = args.lr * (1 - step / args.steps)
    x = torch.randn(48, 8)
    loss = nn.functional.cross_entropy(net(x), x[:, :3].argmax(1))
    net.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
