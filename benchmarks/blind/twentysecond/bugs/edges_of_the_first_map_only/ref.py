"""A graph network tells for each node of small road maps whether it lies on the rim; all maps of a batch have one layout."""
import argparse

import networkx as nx
import torch
import torch.nn as nn
import torch.nn.functional as F

NODES = 14


def layout():
    """Edges of one map, in both directions."""
    graph = nx.connected_watts_strogatz_graph(NODES, 4, 0.3, seed=6)
    edges = torch.tensor(list(graph.edges)).T
    return torch.cat([edges, edges.flip(0)], dim=1)


def batched_edges(edge_index, graphs):
    """The same edges for each map of the batch, in the numbering of all nodes in a row."""
    offsets = (torch.arange(graphs) * NODES).repeat_interleave(edge_index.shape[1])
    return edge_index.repeat(1, graphs) + offsets


def batch_of(gen, edge_index, size):
    """Three features of each node. A node is busy if the mean of its neighbours' first is above its own second."""
    x = torch.randn(size, NODES, 3, generator=gen)
    adjacency = torch.zeros(NODES, NODES)
    adjacency[edge_index[0], edge_index[1]] = 1.0
    mean = adjacency @ x[..., 0].T / adjacency.sum(1, keepdim=True)
    return x, (mean.T > 0.5 * x[..., 1]).float()


class GraphConv(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.own, self.neighbours = nn.Linear(n_in, n_out), nn.Linear(n_in, n_out, bias=False)

    def forward(self, x, edge_index):
        source, target = edge_index
        total = torch.zeros_like(x).index_add_(0, target, x[source])
        degree = torch.zeros(len(x)).index_add_(0, target, torch.ones(len(target))).clamp(min=1)
        return self.own(x) + self.neighbours(total / degree[:, None])


class MapEncoder(nn.Module):
    def __init__(self, edge_index, width=32):
        super().__init__()
        self.register_buffer("edge_index", edge_index)
        self.conv1, self.conv2, self.head = GraphConv(3, width), GraphConv(width, width), nn.Linear(width, 1)

    def forward(self, x):
        graphs, nodes, _ = x.shape
        edge_index = batched_edges(self.edge_index, graphs)
        h = x.reshape(graphs * nodes, -1)
        h = F.relu(self.conv1(h, edge_index))
        h = F.relu(self.conv2(h, edge_index))
        return self.head(h).view(graphs, nodes)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    edge_index, gen = layout(), torch.Generator().manual_seed(args.seed)
    model = MapEncoder(edge_index)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=1e-5)
    for step in range(args.steps):
        x, y = batch_of(gen, edge_index, 24)
        loss = F.binary_cross_entropy_with_logits(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 39:
            print(f"step {step + 1} loss {loss.item():.4f}")
    model.eval()
    x, y = batch_of(torch.Generator().manual_seed(70), edge_index, 60)
    with torch.no_grad():
        right = ((model(x) > 0) == (y > 0)).float()
        moved = x.clone()
        moved[5] += 1.0
        reach = (model(moved) - model(x)).abs().flatten(1).amax(1)
    print(f"EVIDENCE first_map={right[0].mean().item():.3f} accuracy={right.mean().item():.4f} "
          f"maps_touched={(reach > 0).sum().item()} loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
