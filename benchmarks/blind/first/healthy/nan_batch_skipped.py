"""A batch with broken values gives a loss that is not finite; its step is skipped."""

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
optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
skipped = 0
for step in range(args.steps):
    x = torch.randn(32, 8)
    if step % 17 == 9:
        x[3, 2] = float("nan")
    loss = nn.functional.mse_loss(net(x), x[:, :1])
    optimizer.zero_grad(set_to_none=True)
    if not torch.isfinite(loss):
        skipped += 1
        continue
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
print(f"skipped {skipped}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
