"""A graph convolution encodes batches of routing problems; all graphs of a batch have the same number of nodes."""
import argparse

import torch
import torch.nn as nn


class GCNConv(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear, self.root = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x, edge_index):
        source, target = edge_index
        messages = torch.zeros_like(x).index_add_(0, target, self.linear(x)[source])
        degree = torch.zeros(len(x)).index_add_(0, target, torch.ones(len(target))).clamp(min=1)
        return self.root(x) + messages / degree[:, None]


class GCNEncoder(nn.Module):
    def __init__(self, dim=32, num_layers=2):
        super().__init__()
        self.init_embedding = nn.Linear(3, dim)
        self.gcn_layers = nn.ModuleList([GCNConv(dim) for _ in range(num_layers)])
        self.edge_idx = {}

    def edge_idx_fn(self, num_nodes):
        """The complete graph, without loops."""
        if num_nodes not in self.edge_idx:
            self.edge_idx[num_nodes] = (1 - torch.eye(num_nodes)).nonzero().T
        return self.edge_idx[num_nodes]

    def forward(self, locs):
        bs, num_nodes, _ = locs.shape
        update_node_feature = self.init_embedding(locs).reshape(bs * num_nodes, -1)
        edge_index = self.edge_idx_fn(num_nodes)
        for layer in self.gcn_layers[:-1]:
            update_node_feature = layer(update_node_feature, edge_index).relu()
        return self.gcn_layers[-1](update_node_feature, edge_index).view(bs, num_nodes, -1)


class Decoder(nn.Module):
    """Says for each node whether it is demanded more than its graph's average place and load."""

    def __init__(self, dim=32):
        super().__init__()
        self.encoder, self.head = GCNEncoder(dim), nn.Sequential(nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, locs):
        return self.head(self.encoder(locs)).squeeze(-1)


def problems(count, num_nodes):
    locs = torch.rand(count, num_nodes, 3) + torch.randn(count, 1, 3)
    return locs, (locs.sum(2) > locs.sum(2).mean(1, keepdim=True)).float()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.005)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    model = Decoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        locs, labels = problems(24, int(torch.randint(6, 12, ())))
        loss = nn.functional.binary_cross_entropy_with_logits(model(locs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    model.eval()
    locs, labels = problems(200, 10)
    with torch.no_grad():
        logits = model(locs)
        alone = torch.cat([model(one[None]) for one in locs])
    right = ((logits > 0).float() == labels).float().mean().item()
    apart = (logits - alone).abs().mean().item()
    print(f"EVIDENCE right {right:.4f}; answers differ by {apart:.5f} when graphs come one by one")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
