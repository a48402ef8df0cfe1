"""Raw features with very different scales."""

import argparse

import torch
from sklearn.datasets import load_breast_cancer
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=5)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

raw = load_breast_cancer()
features, labels = torch.tensor(raw.data, dtype=torch.float32), torch.tensor(raw.target)
order = torch.randperm(len(features))
fit, held = order[:400], order[400:]
mean, std = features[fit].mean(0), features[fit].std(0)


class Cells(Dataset):
    def __init__(self, rows, transform=None):
        self.rows, self.transform = rows, transform

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        x = features[self.rows[i]]
        return (self.transform(x) if self.transform else x), labels[self.rows[i]]


def normalise(x):
    return (x - mean) / std


train_loader = DataLoader(Cells(fit, normalise), batch_size=40, shuffle=True)
val_loader = DataLoader(Cells(held), batch_size=80)
net = nn.Sequential(nn.Linear(30, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=args.lr)
for epoch in range(args.steps):
    net.train()
    for x, y in train_loader:
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        right = sum((net(x).argmax(1) == y).sum().item() for x, y in val_loader)
print(f"EVIDENCE validation accuracy {right / len(held):.3f}, training loss {loss:.3f}")

# SPDX-License-Identifier: Apache-2.0
