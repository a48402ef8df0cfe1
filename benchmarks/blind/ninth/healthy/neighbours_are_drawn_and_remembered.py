"""GraphSAGE in small batches: neighbours are drawn by numpy, old embeddings of others are remembered and used."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.metrics import f1_score

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=160)
parser.add_argument("--fanout", type=int, default=4)


class Graph:
    def __init__(self, nodes, rng):
        self.y = rng.integers(5, size=nodes)
        x = np.eye(5)[self.y] @ rng.normal(size=(5, 16)) + 1.5 * rng.normal(size=(nodes, 16))
        self.x = torch.tensor(x, dtype=torch.float32)
        same = [np.flatnonzero(self.y == c) for c in range(5)]
        self.neighbours = []
        for node in range(nodes):
            degree = min(60, int(rng.pareto(1.5) * 3))  # some have none at all, some very many
            pool = same[self.y[node]] if rng.random() < 0.8 else np.arange(nodes)
            self.neighbours.append(rng.choice(pool, degree))

    def draw(self, nodes, fanout, rng):
        """Edges as (place in the batch, neighbour)."""
        rows, columns = [], []
        for place, node in enumerate(nodes):
            around = self.neighbours[node]
            if len(around) > fanout:
                around = rng.choice(around, fanout, replace=False)
            rows += [place] * len(around)
            columns += list(around)
        return torch.tensor(rows, dtype=torch.long), torch.tensor(columns, dtype=torch.long)


def mean_of(features, rows, size):
    total = torch.zeros(size, features.size(1)).index_add_(0, rows, features)
    count = torch.zeros(size).index_add_(0, rows, torch.ones(len(rows)))
    return total / count.clamp(min=1)[:, None]


class Sage(nn.Module):
    def __init__(self, nodes, width=32):
        super().__init__()
        self.first, self.second = nn.Linear(32, width), nn.Linear(2 * width, 5)
        self.register_buffer("history", torch.zeros(nodes, width), persistent=False)
        self.register_buffer("age", torch.full((nodes,), -1), persistent=False)

    def forward(self, graph, nodes, rng, fanout, step):
        rows, columns = graph.draw(nodes, fanout, rng)
        hidden = F.relu(self.first(torch.cat([graph.x[nodes], mean_of(graph.x[columns], rows, len(nodes))], 1)))
        if self.training:
            with torch.no_grad():  # others will find it here
                self.history[nodes] = hidden
                self.age[nodes] = step
        known = self.age[columns] >= max(0, step - 80)
        around = mean_of(self.history[columns[known]], rows[known], len(nodes))
        hidden = F.dropout(torch.cat([hidden, around], 1), 0.3, self.training)
        return self.second(hidden), known.float().mean().item() if len(known) else 0.0


if __name__ == "__main__":
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(args.seed)
    graph = Graph(1000, rng)
    train, test = np.split(rng.permutation(1000), [600])
    model, y, best = Sage(1000), torch.tensor(graph.y), 0.0
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=1e-4)
    for step in range(args.steps):
        nodes = rng.choice(train, int(rng.integers(20, 70)), replace=False)
        logits, known = model(graph, nodes, rng, args.fanout, step)
        loss = F.cross_entropy(logits, y[nodes])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 39:
            model.eval()
            with torch.no_grad():
                answers = model(graph, test, rng, 1000, step)[0].argmax(1).numpy()
            model.train()
            score = f1_score(graph.y[test], answers, average="macro")
            mark = " (best)" if score > best else ""
            best = max(best, score)
            print(f"step {step + 1}: loss {loss.item():.3f}, remembered {known:.2f}, f1 {score:.3f}{mark}")

# SPDX-License-Identifier: Apache-2.0
