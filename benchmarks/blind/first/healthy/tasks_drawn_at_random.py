"""A head gets gradients only when its task is drawn, one optimizer for all."""

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
trunk = nn.Sequential(nn.Linear(8, 40), nn.ReLU())
heads = nn.ModuleDict({"sum": nn.Linear(40, 1), "sign": nn.Linear(40, 2), "norm": nn.Linear(40, 1)})
optimizer = torch.optim.AdamW([*trunk.parameters(), *heads.parameters()], lr=args.lr)
for step in range(args.steps):
    task = list(heads)[int(torch.randint(3, ()))]
    x = torch.randn(48, 8)
    out = heads[task](trunk(x))
    if task == "sign":
        loss = nn.functional.cross_entropy(out, (x[:, 0] > 0).long())
    else:
        loss = nn.functional.smooth_l1_loss(out, x.sum(1, keepdim=True) if task == "sum" else x.norm(dim=1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{task} {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
