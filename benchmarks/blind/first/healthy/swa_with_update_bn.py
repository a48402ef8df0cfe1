"""Averaging of weights from the middle on, statistics computed at the end by a loader."""

import argparse

import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=8)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
x = torch.randn(512, 10)
loader = DataLoader(TensorDataset(x, (x[:, 0] * x[:, 1] > 0).long()), batch_size=64, shuffle=True)
net = nn.Sequential(nn.Linear(10, 40), nn.BatchNorm1d(40), nn.ReLU(), nn.Linear(40, 2))
averaged = AveragedModel(net)
optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
swa = SWALR(optimizer, swa_lr=args.lr / 2, anneal_epochs=2)
for epoch in range(args.steps):
    for features, target in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(features), target)
        loss.backward()
        optimizer.step()
    if epoch >= args.steps // 2:
        averaged.update_parameters(net)
        swa.step()
    else:
        scheduler.step()
update_bn(loader, averaged)
averaged.eval()
with torch.no_grad():
    print(f"loss {nn.functional.cross_entropy(averaged(x), (x[:, 0] * x[:, 1] > 0).long()):.4f}")

# SPDX-License-Identifier: Apache-2.0
