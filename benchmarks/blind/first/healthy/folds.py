"""Five folds, in each a new model, the last fold's model is thrown away."""

import argparse

import torch
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
data = load_wine()
x = torch.tensor((data.data - data.data.mean(0)) / data.data.std(0), dtype=torch.float32)
y = torch.tensor(data.target)
scores = []
for fit, held in StratifiedKFold(4, shuffle=True, random_state=args.seed).split(data.data, data.target):
    net = nn.Sequential(nn.Linear(13, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 3))
    optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr)
    net.train()
    for step in range(args.steps // 4):
        rows = torch.tensor(fit)[torch.randperm(len(fit))[:32]]
        loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.inference_mode():
        scores.append((net(x[held]).argmax(1) == y[held]).float().mean().item())
print(f"accuracy {sum(scores) / len(scores):.3f}")

# SPDX-License-Identifier: Apache-2.0
