"""Early stopping, the best weights are put back and trained on with a smaller rate."""

import argparse
import copy

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=12)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
x = torch.randn(300, 8)
y = (x[:, :2].sum(1) > 0).long()
net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 2))


def fit(rate, patience):
    optimizer = torch.optim.Adam(net.parameters(), lr=rate)
    best, kept, bad = float("inf"), None, 0
    for epoch in range(args.steps):
        net.train()
        for rows in torch.randperm(200).split(40):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x[rows]), y[rows]).backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            held = nn.functional.cross_entropy(net(x[200:]), y[200:]).item()
        if held < best - 1e-3:
            best, kept, bad = held, copy.deepcopy(net.state_dict()), 0
        else:
            bad += 1
        if bad > patience:
            break
    net.load_state_dict(kept)
    return best


fit(args.lr, 1)
print(f"best {fit(args.lr / 10, 2):.4f}")

# SPDX-License-Identifier: Apache-2.0
