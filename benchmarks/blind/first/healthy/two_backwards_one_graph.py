"""Two losses run backward through one graph, `retain_graph` for the first; one step."""

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
shared, first, second = nn.Sequential(nn.Linear(8, 24), nn.ReLU()), nn.Linear(24, 1), nn.Linear(24, 2)
optimizer = torch.optim.AdamW([*shared.parameters(), *first.parameters(), *second.parameters()], lr=args.lr)
for step in range(args.steps):
    x = torch.randn(40, 8)
    z = shared(x)
    for p in shared.parameters():
        p.grad = None
    for p in (*first.parameters(), *second.parameters()):
        p.grad = None
    one = nn.functional.l1_loss(first(z), x[:, :1])
    one.backward(retain_graph=True)
    two = nn.functional.cross_entropy(second(z), (x[:, 1] > 0).long())
    (0.3 * two).backward()
    optimizer.step()
print(f"{one:.4f} {two:.4f}")

# SPDX-License-Identifier: Apache-2.0
