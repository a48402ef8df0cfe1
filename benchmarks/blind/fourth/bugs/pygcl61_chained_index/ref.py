"""Contrastive learning of nodes: two views, and what has the same known label counts as positive, too."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
NODES, FEATURES, CLASSES = 200, 16, 4


def drop(x, edges, p=0.2):
    return x * (torch.rand(1, FEATURES) > p), edges * (torch.rand_like(edges) > p)


class Encoder(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.first, self.second = nn.Linear(FEATURES, width), nn.Linear(width, width)
        self.project = nn.Sequential(nn.Linear(width, width), nn.ELU(), nn.Linear(width, width))

    def forward(self, x, edges):
        mean = edges / edges.sum(1, keepdim=True).clamp(min=1)
        x = torch.relu(self.first(x + mean @ x))
        return self.second(x + mean @ x)


def positive_pairs(labels, train):
    positive = labels[:, None] == labels
    positive[~train] = False
    positive[:, ~train] = False
    return positive | torch.eye(len(labels), dtype=torch.bool)


def contrast(a, b, positive, temperature=0.5):
    a, b = nn.functional.normalize(a, dim=1), nn.functional.normalize(b, dim=1)
    logp = (a @ b.t() / temperature).log_softmax(1)
    return -((logp * positive).sum(1) / positive.sum(1)).mean()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
labels = torch.randint(CLASSES, (NODES,))
x = torch.randn(CLASSES, FEATURES)[labels] * 0.4 + torch.randn(NODES, FEATURES)
edges = (torch.rand(NODES, NODES) < torch.where(labels[:, None] == labels, 0.04, 0.02)).float()
train = torch.rand(NODES) < 0.2
positive = positive_pairs(labels, train)
encoder = Encoder()
optimizer = torch.optim.Adam(encoder.parameters(), lr=args.lr)
for epoch in range(args.steps):
    encoder.train()
    a, b = (encoder.project(encoder(*drop(x, edges))) for _ in range(2))
    loss = 0.5 * (contrast(a, b, positive) + contrast(b, a, positive))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 20 == 19:
        print(f"epoch {epoch}: loss {loss.item():.3f}")

encoder.eval()
with torch.no_grad():
    z = nn.functional.normalize(encoder(x, edges), dim=1)
probe = nn.Linear(z.size(1), CLASSES)
tuner = torch.optim.Adam(probe.parameters(), lr=0.05)
for _ in range(40):
    fit = nn.functional.cross_entropy(probe(z[train]), labels[train])
    tuner.zero_grad()
    fit.backward()
    tuner.step()
right = (probe(z).argmax(1) == labels)[~train].float().mean()
print(f"EVIDENCE {positive.sum().item()} positive pairs, {right:.3f} of the other nodes are right")

# SPDX-License-Identifier: Apache-2.0
