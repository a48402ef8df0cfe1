"""A graph network of two layers finds the communities of a graph; a tenth of its nodes have labels."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
NODES, COMMUNITIES = 240, 4


def random_graph():
    community = torch.arange(NODES) % COMMUNITIES
    same = community[:, None] == community
    edges = torch.rand(NODES, NODES) < torch.where(same, 0.06, 0.01)
    adjacency = (edges | edges.t()).float().fill_diagonal_(0)
    ring = torch.arange(NODES)
    adjacency[ring, (ring + COMMUNITIES) % NODES] = adjacency[(ring + COMMUNITIES) % NODES, ring] = 1
    return adjacency, community


def propagation(adjacency):
    with_loops = adjacency + torch.eye(len(adjacency))
    degree = adjacency.sum(1)
    scale = degree.rsqrt()
    return scale[:, None] * with_loops * scale


class GCN(nn.Module):
    def __init__(self, features, width, classes):
        super().__init__()
        self.first, self.second = nn.Linear(features, width), nn.Linear(width, classes)
        self.dropout = nn.Dropout(0.3)

    def forward(self, propagate, x):
        x = torch.relu(propagate @ self.first(x))
        return propagate @ self.second(self.dropout(x))


torch.manual_seed(args.seed)
torch.set_num_threads(1)
adjacency, community = random_graph()
features = nn.functional.one_hot(community, COMMUNITIES).float() + 1.5 * torch.randn(NODES, COMMUNITIES)
labelled = torch.randperm(NODES)[:NODES // 10]
rest = torch.ones(NODES, dtype=torch.bool)
rest[labelled] = False
propagate = propagation(adjacency)
model = GCN(COMMUNITIES, 16, COMMUNITIES)
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=5e-4)
for epoch in range(args.steps):
    model.train()
    loss = nn.functional.cross_entropy(model(propagate, features)[labelled], community[labelled])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 20 == 19:
        model.eval()
        with torch.no_grad():
            right = (model(propagate, features).argmax(1) == community)[rest].float().mean()
        print(f"epoch {epoch}: loss {loss.item():.3f}, {right:.3f} of the others right")
largest = torch.linalg.eigvalsh(propagate).max()
print(f"EVIDENCE largest eigenvalue of the propagation {largest:.4f}, loss {loss.item():.4f}")

# SPDX-License-Identifier: Apache-2.0
