"""A graph network on a made graph, full batch: functional dropout, log_softmax, masks for the splits."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parameter import Parameter

from options import options


class GraphConvolution(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = Parameter(torch.empty(inputs, outputs))
        self.bias = Parameter(torch.empty(outputs))
        self.reset_parameters()

    def reset_parameters(self):
        bound = 1.0 / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-bound, bound)
        self.bias.data.uniform_(-bound, bound)

    def forward(self, x, adj):
        return torch.sparse.mm(adj, x @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self, features, hidden, classes, dropout):
        super().__init__()
        self.gc1 = GraphConvolution(features, hidden)
        self.gc2 = GraphConvolution(hidden, classes)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, self.dropout, training=self.training)
        return F.log_softmax(self.gc2(x, adj), dim=1)


def make_graph(nodes=300, classes=4):
    """Communities: edges are likelier inside one; features say little about it."""
    labels = torch.arange(nodes) % classes
    same = labels[:, None] == labels[None, :]
    edges = torch.rand(nodes, nodes) < torch.where(same, 0.05, 0.01)
    adj = (edges | edges.T | torch.eye(nodes, dtype=torch.bool)).float()
    scale = adj.sum(1).rsqrt()
    features = 0.4 * F.one_hot(labels, 16).float() + torch.randn(nodes, 16) * 0.3
    return features, (scale[:, None] * adj * scale[None, :]).to_sparse(), labels


args = options(lr=0.02, width=24, steps=40, seed=42)
torch.manual_seed(args.seed)
torch.set_num_threads(1)
features, adj, labels = make_graph()
order = torch.randperm(len(labels))
idx_train, idx_val, idx_test = order[:100], order[100:200], order[200:]
model = GCN(features.shape[1], args.width, int(labels.max()) + 1, dropout=0.5)
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=5e-4)

for epoch in range(args.steps):
    model.train()
    optimizer.zero_grad()
    output = model(features, adj)
    loss_train = F.nll_loss(output[idx_train], labels[idx_train])
    loss_train.backward()
    optimizer.step()

    model.eval()
    with torch.no_grad():
        output = model(features, adj)
    loss_val = F.nll_loss(output[idx_val], labels[idx_val])
    if epoch % 10 == 9:
        accuracy = (output[idx_val].argmax(1) == labels[idx_val]).float().mean()
        print(f"epoch {epoch + 1}: train {loss_train.item():.3f}, val {loss_val.item():.3f}, accuracy {accuracy:.3f}")

model.eval()
with torch.no_grad():
    output = model(features, adj)
print(f"test accuracy {(output[idx_test].argmax(1) == labels[idx_test]).float().mean():.3f}")

# SPDX-License-Identifier: Apache-2.0
