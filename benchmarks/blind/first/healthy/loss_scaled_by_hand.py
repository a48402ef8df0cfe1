"""The loss is scaled by hand and gradients are divided before clipping; a bad step halves the scale."""

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
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
scale, good = 2.0**10, 0
for step in range(args.steps):
    x = torch.randn(32, 8)
    loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    (loss * scale).backward()
    for p in net.parameters():
        p.grad.div_(scale)
    norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    if torch.isfinite(norm):
        optimizer.step()
        good += 1
        scale = scale * 2 if good % 20 == 0 else scale
    else:
        scale /= 2
print(f"scale {scale}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
