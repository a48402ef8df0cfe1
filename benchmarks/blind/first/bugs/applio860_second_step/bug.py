"""Training with a gradient scaler."""

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

net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.5)
scaler = torch.amp.GradScaler("cpu", init_scale=16.0)
moved = 0.0
for step in range(args.steps):
    x = torch.randn(64, 16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(net(x), x[:, :4].argmax(1))
    optimizer.zero_grad()
    before = net[0].weight.detach().clone()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    optimizer.step()
    scaler.update()
    moved += (net[0].weight - before).norm().item()
print(f"EVIDENCE the first layer moves by {moved / args.steps:.5f} a step, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
