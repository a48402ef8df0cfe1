"""Stochastic weight averaging."""

import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.optim.swa_utils import AveragedModel, update_bn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=90)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

digits = load_digits()
x, y = torch.tensor(digits.data, dtype=torch.float32) / 4, torch.tensor(digits.target)
net = nn.Sequential(nn.Linear(64, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 10))
averaged = AveragedModel(net)
optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
for step in range(args.steps):
    rows = torch.randint(0, 1500, (64,))
    loss = F.cross_entropy(net(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step > args.steps // 2:
        averaged.update_parameters(net)
averaged.eval()
with torch.no_grad():
    accuracy = (averaged(x[1500:]).argmax(1) == y[1500:]).float().mean()
print(f"EVIDENCE accuracy of the averaged model {accuracy:.3f}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
