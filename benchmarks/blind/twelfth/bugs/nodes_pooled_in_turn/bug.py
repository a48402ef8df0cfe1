"""Graphs of one size are told apart by a network with messages and a mean over nodes."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

NODES = 10


def make_graphs(count, generator):
    label = torch.randint(0, 2, (count,), generator=generator)
    share = torch.where(label == 0, 0.25, 0.45)
    upper = torch.rand(count, NODES, NODES, generator=generator) < share[:, None, None]
    upper = torch.triu(upper, 1)
    return (upper | upper.transpose(1, 2)), torch.randn(count, NODES, 4, generator=generator) + 0.4, label


def to_batch(adjacency, features):
    count = len(adjacency)
    graph, source, target = adjacency.nonzero(as_tuple=True)
    edges = torch.stack([graph * NODES + source, graph * NODES + target])
    graph_of = torch.arange(count).repeat(NODES)
    return features.reshape(count * NODES, -1), edges, graph_of


class GraphNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.first, self.second = nn.Linear(8, width), nn.Linear(2 * width, width)
        self.out = nn.Linear(width, 2)

    def layer(self, linear, h, edges):
        message = torch.zeros_like(h).index_add(0, edges[1], h[edges[0]])
        return F.relu(linear(torch.cat([h, message / 4], 1)))

    def forward(self, x, edges, graph_of):
        h = self.layer(self.second, self.layer(self.first, x, edges), edges)
        means = torch.zeros(len(x) // NODES, h.shape[1]).index_add(0, graph_of, h) / NODES
        return self.out(means)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    adjacency, features, label = make_graphs(1200, generator)
    model = GraphNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        rows = torch.randint(0, 1000, (32,), generator=generator)
        loss = F.cross_entropy(model(*to_batch(adjacency[rows], features[rows])), label[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    with torch.no_grad():
        right = (model(*to_batch(adjacency[1000:], features[1000:])).argmax(1) == label[1000:]).float().mean()
    print(f"EVIDENCE right {right:.4f}, loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
