"""The batch doubles instead of the rate being halved; the last batch of an epoch is short."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=6)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
x = torch.randn(500, 8)
data = TensorDataset(x, x[:, :2].prod(1, keepdim=True))
net = nn.Sequential(nn.Linear(8, 48), nn.Tanh(), nn.Linear(48, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
for epoch in range(args.steps):
    loader = DataLoader(data, batch_size=16 * 2 ** (epoch // 2), shuffle=True)
    for features, target in loader:
        loss = nn.functional.mse_loss(net(features), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"batches of {loader.batch_size}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
