"""Missing edges of a network of two groups are to be found by a graph encoder."""

import argparse

import torch
from torch import nn
from torch.nn import functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
NODES, FEATURES = 120, 8


def network():
    group = torch.randint(4, (NODES,))
    same = group[:, None] == group[None]
    chance = torch.where(same, 0.15, 0.01)
    return torch.nonzero(torch.triu(torch.rand(NODES, NODES) < chance, diagonal=1)).t()


def both_ways(edges):
    return torch.cat([edges, edges.flip(0)], dim=1)


class Encoder(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.nodes = nn.Parameter(torch.randn(NODES, FEATURES) * 0.3)
        self.layers = nn.ModuleList([nn.Linear(2 * FEATURES, width), nn.Linear(2 * width, width)])

    def forward(self, edges):
        degree = torch.zeros(NODES).index_add(0, edges[1], torch.ones(edges.shape[1])).clamp(min=1)
        x = self.nodes
        for layer in self.layers:
            mean = torch.zeros_like(x).index_add(0, edges[1], x[edges[0]]) / degree[:, None]
            x = torch.tanh(layer(torch.cat([x, mean], dim=1)))
        return x


def scores(x, edges):
    return (x[edges[0]] * x[edges[1]]).sum(1)


def auc(good, bad):
    return (good[:, None] > bad[None]).float().mean().item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
edges = network()
edges = both_ways(edges)[:, torch.randperm(2 * edges.shape[1])]
cut = int(0.8 * edges.shape[1])
train, test = edges[:, :cut], edges[:, cut:]
model = Encoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(1, args.steps + 1):
    kept = torch.rand(train.shape[1]) < 0.8
    x = model(train[:, kept])
    none = torch.randint(NODES, (2, train.shape[1]))
    logits = torch.cat([scores(x, train), scores(x, none)])
    target = torch.cat([torch.ones(train.shape[1]), torch.zeros(none.shape[1])])
    loss = F.binary_cross_entropy_with_logits(logits, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        with torch.no_grad():
            x = model(train)
            value = auc(scores(x, test), scores(x, torch.randint(NODES, (2, 400))))
        print(f"step {step}: loss {loss.item():.4f}, area {value:.4f}")
known = {frozenset(e) for e in train.t().tolist()}
shared = sum(frozenset(e) in known for e in test.t().tolist()) / test.shape[1]
print(f"EVIDENCE {shared:.4f} of the test edges are in the training graph, area {value:.4f}")

# SPDX-License-Identifier: Apache-2.0
