"""A graph network: each step sees the whole graph, the loss some of its nodes; edges are dropped for training only."""

import argparse
import copy

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
N = 200


class Layer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.own, self.near = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs, bias=False)

    def forward(self, x, edges):
        source, goal = edges
        total = torch.zeros_like(x).index_add(0, goal, x[source])
        degree = torch.zeros(len(x)).index_add(0, goal, torch.ones(len(goal))).clamp(min=1)
        return self.own(x) + self.near(total / degree[:, None])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Layer(16, 32), Layer(32, 4)
        self.dropout = nn.Dropout(0.4)

    def forward(self, x, edges):
        if self.training:
            edges = edges[:, torch.rand(edges.size(1)) > 0.2]
        return self.second(self.dropout(self.first(x, edges).relu()), edges)


label = torch.randint(0, 4, (N,))
x = torch.randn(4, 16)[label] * 0.5 + torch.randn(N, 16)
linked = torch.rand(N, N) < torch.where(label[:, None] == label[None], 0.06, 0.005)
edges = linked.triu(1).nonzero().t()
edges = torch.cat([edges, edges.flip(0)], 1)
order = torch.randperm(N)
train, val, test = order[:60], order[60:120], order[120:]
model = Net()
optimizer = torch.optim.Adam([{"params": model.first.parameters(), "weight_decay": 5e-3},
                              {"params": model.second.parameters()}], lr=args.lr)
best, kept = 0.0, None
for step in range(args.steps):
    model.train()
    loss = nn.functional.cross_entropy(model(x, edges)[train], label[train])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        model.eval()
        with torch.no_grad():
            accuracy = (model(x, edges)[val].argmax(1) == label[val]).float().mean().item()
        if accuracy > best:
            best, kept = accuracy, copy.deepcopy(model.state_dict())
model.load_state_dict(kept)
model.eval()
with torch.no_grad():
    final = (model(x, edges)[test].argmax(1) == label[test]).float().mean()
print(f"loss {loss.item():.3f}, validation {best:.3f}, test {final:.3f}")

# SPDX-License-Identifier: Apache-2.0
