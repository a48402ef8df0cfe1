"""Embeddings by triplets: for each point the farthest of its class and the nearest of another."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


def batch_hard(embedding, label, margin=1.0):
    distance = torch.cdist(embedding, embedding)
    same = label[:, None] == label[None]
    hardest_positive = distance.masked_fill(~same, 0).amax(1)
    hardest_negative = distance.masked_fill(same, 0).amax(1)
    return torch.relu(hardest_positive - hardest_negative + margin).mean()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 8))
optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
centres = torch.randn(6, 16)
for step in range(args.steps):
    label = torch.arange(6).repeat_interleave(6)
    x = centres[label] + 0.7 * torch.randn(36, 16)
    loss = batch_hard(net(x), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    e = net(x)
    d = torch.cdist(e, e) + 100 * torch.eye(36)
    nearest = (label[d.argmin(1)] == label).float().mean()
print(f"EVIDENCE loss {loss:.4f}, nearest neighbour of the same class {nearest:.2f}")

# SPDX-License-Identifier: Apache-2.0
