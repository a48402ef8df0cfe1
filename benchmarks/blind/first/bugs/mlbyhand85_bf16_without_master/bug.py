"""Fine-tuning with a small rate under autocast, weights in float32."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.0002)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
with torch.no_grad():
    for p in net.parameters():
        p.add_(0.5)
net = net.to(torch.bfloat16)
optimizer = torch.optim.SGD(net.parameters(), lr=args.lr)
start = net[0].weight.detach().clone()
for step in range(args.steps):
    x = torch.randn(32, 16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = net(x.to(net[0].weight.dtype))
    loss = nn.functional.huber_loss(out.float(), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
same = (net[0].weight == start).float().mean()
print(f"EVIDENCE {same:.3f} of the first weights never changed, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
