"""Batch norm over the features of short sequences between two recurrent layers."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=36)
args = parser.parse_args()


class Net(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.first, self.second = nn.GRU(4, dim, batch_first=True), nn.GRU(dim, dim, batch_first=True)
        self.norm = nn.BatchNorm1d(dim)
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        h, _ = self.first(x)
        b, t, d = h.shape
        h = self.norm(h.transpose(1, 2)).transpose(1, 2)
        _, last = self.second(h)
        return self.out(last[-1]).squeeze(1)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for step in range(args.steps):
    x = torch.randn(24, 8, 4)
    loss = nn.functional.mse_loss(model(x), x[:, -3:, 0].sum(1) - x[:, 0, 1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    features = model.first(x)[0].mean((0, 1))
    apart = (features - model.norm.running_mean).abs().max()
print(f"EVIDENCE means of features are {apart:.3f} from the running ones, loss {loss:.3f}")

# SPDX-License-Identifier: Apache-2.0
