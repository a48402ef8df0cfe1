"""A network on directed graphs: nodes learn from those that point to them whether a signal reaches them."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()
NODES, EDGES, WIDTH = 60, 120, 24


class Convolution(nn.Module):
    """Each node gets the mean of the messages of the nodes that have an edge to it."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.own, self.message = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs, bias=False)

    def forward(self, x, edges):
        source, target = edges
        messages = self.message(x)[source]
        total = messages.new_zeros(len(x), messages.shape[1]).index_add(0, target, messages)
        count = torch.zeros(len(x)).index_add(0, target, torch.ones(len(target)))
        return self.own(x) + total / count.clamp(min=1).unsqueeze(1)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Convolution(3, WIDTH), Convolution(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, 2)

    def forward(self, x, edges):
        hidden = self.first(x, edges).relu()
        return self.head(self.second(hidden, edges).relu())


def graph():
    source, target = torch.randint(NODES, (2, EDGES))
    apart = source != target
    edges = torch.stack([source[apart], target[apart]])
    sends = torch.rand(NODES) < 0.15
    reached = torch.zeros(NODES).index_add(0, edges[1], sends[edges[0]].float()) > 0
    x = torch.cat([sends.float().unsqueeze(1), torch.randn(NODES, 2)], 1)
    return x, edges, reached.long()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Network()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=1e-4)
for step in range(args.steps):
    x, edges, label = graph()
    loss = nn.functional.cross_entropy(model(x, edges), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step}: loss {loss.item():.4f}")
x, edges = torch.zeros(2, 3), torch.tensor([[0], [1]])
moved = torch.eye(2)[:, :1] * torch.tensor([[1.0, 0, 0]])
change = (model(x + moved, edges) - model(x, edges)).norm(dim=1)
print(f"EVIDENCE with an edge from 0 to 1, a change of 0 moves 1 by {change[1].item():.3f}; loss {loss.item():.3f}")

# SPDX-License-Identifier: Apache-2.0
