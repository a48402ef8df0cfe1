"""Graph attention by hand on a random graph with hubs: messages go from edge_index[0] to edge_index[1]."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def softmax(src, index, num_nodes):
    """For each node, over the edges whose index it is."""
    out = src - src.max()
    out = out.exp()
    total = torch.zeros(num_nodes, src.size(1)).index_add(0, index, out)
    return out / (total[index] + 1e-16)


class GATConv(nn.Module):
    def __init__(self, inputs, outputs, heads=4):
        super().__init__()
        self.heads, self.outputs = heads, outputs
        self.lin = nn.Linear(inputs, heads * outputs, bias=False)
        self.att_src = nn.Parameter(torch.randn(heads, outputs) / outputs ** 0.5)
        self.att_dst = nn.Parameter(torch.randn(heads, outputs) / outputs ** 0.5)
        self.bias = nn.Parameter(torch.zeros(heads * outputs))

    def forward(self, x, edge_index):
        x = self.lin(x).view(-1, self.heads, self.outputs)
        score = (x * self.att_src).sum(-1)[edge_index[0]] + (x * self.att_dst).sum(-1)[edge_index[1]]
        alpha = softmax(F.leaky_relu(score, 0.2), edge_index[0], len(x))
        messages = alpha[..., None] * x[edge_index[0]]
        return torch.zeros_like(x).index_add(0, edge_index[1], messages).flatten(1) + self.bias


class GAT(nn.Module):
    def __init__(self, inputs, classes):
        super().__init__()
        self.conv1, self.conv2 = GATConv(inputs, 8), GATConv(32, 8)
        self.out = nn.Linear(32, classes)

    def forward(self, x, edge_index):
        x = F.dropout(F.elu(self.conv1(x, edge_index)), 0.2, self.training)
        return self.out(F.elu(self.conv2(x, edge_index)))


def make_graph(nodes, classes, generator):
    """Some nodes point to many others; most edges join nodes of a class."""
    y = torch.randint(classes, (nodes,), generator=generator)
    popularity = torch.rand(nodes, generator=generator) ** 4
    src = torch.multinomial(popularity, 8 * nodes, replacement=True, generator=generator)
    dst = torch.randint(nodes, (8 * nodes,), generator=generator)
    keep = (y[src] == y[dst]) | (torch.rand(8 * nodes, generator=generator) < 0.2)
    loops = torch.arange(nodes)
    edge_index = torch.cat([torch.stack([src[keep], dst[keep]]), torch.stack([loops, loops])], 1)
    x = F.one_hot(y, 12).float() + 0.8 * torch.randn(nodes, 12, generator=generator)
    return x, y, edge_index


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y, edge_index = make_graph(900, 6, torch.Generator().manual_seed(args.seed))
    train_mask = torch.arange(900) < 300
    model = GAT(12, 6)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=5e-4)
    for epoch in range(1, args.steps + 1):
        model.train()
        loss = F.cross_entropy(model(x, edge_index)[train_mask], y[train_mask])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 30 == 0:
            print(f"epoch {epoch}: loss {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        out = model(x, edge_index)[~train_mask]
    print(f"EVIDENCE test loss {F.cross_entropy(out, y[~train_mask]).item():.4f}, "
          f"accuracy {(out.argmax(1) == y[~train_mask]).float().mean().item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
