"""Accumulation with one clipping before the step."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=50)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

net = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 1))
opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
for step in range(args.steps):
    opt.zero_grad()
    for micro in range(4):
        x = torch.randn(24, 10) * (4 - micro)
        y = x.abs().sum(1, keepdim=True)
        loss = nn.functional.mse_loss(net(x), y) / 4
        before = net[0].weight.grad.clone() if micro else torch.zeros(())
        loss.backward()
        share = (before.norm() / (net[0].weight.grad - before).norm()).item()
    norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
print(f"EVIDENCE the first three micro-batches weigh {share:.3f} of the last one, loss {loss:.4f}, norm {norm:.3f}")

# SPDX-License-Identifier: Apache-2.0
