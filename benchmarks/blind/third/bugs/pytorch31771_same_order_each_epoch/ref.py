"""Training as of a job of two processes, of which this is the first: a distributed sampler deals the data."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


def dataset(n=160):
    x = torch.randn(n, 12)
    return TensorDataset(x, (x[:, 0] * x[:, 1] > 0).long())


torch.manual_seed(args.seed)
torch.set_num_threads(1)
data = dataset()
sampler = DistributedSampler(data, num_replicas=2, rank=0, shuffle=True, seed=args.seed)
loader = DataLoader(data, batch_size=16, sampler=sampler)
model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
orders, seen = [], 0
for epoch in range(args.steps // len(loader)):
    sampler.set_epoch(epoch)
    orders.append(tuple(sampler))
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += 1
print(f"EVIDENCE {len(set(orders))} orders in {len(orders)} epochs, loss {loss:.3f}")

# Idea from pytorch/pytorch#31771, cszn/KAIR#106
# SPDX-License-Identifier: Apache-2.0
