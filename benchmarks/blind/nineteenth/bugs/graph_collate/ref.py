"""Graph classification with a GIN on small random graphs (ring-like, star-like, clustered)."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

NUM_CLASSES = 3
FEATURES = 6


def ring_edges(n, rng):
    return [(i, (i + 1) % n) for i in range(n)]


def star_edges(n, rng):
    edges = [(0, i) for i in range(1, n)]
    return edges[:n - 1] + [(int(rng.integers(1, n)), int(rng.integers(1, n)))]


def clustered_edges(n, rng):
    half = n // 2
    edges = [(half - 1, half)]
    for lo, hi in ((0, half), (half, n)):
        for i in range(lo, hi):
            for j in range(i + 1, hi):
                if rng.random() < 0.45:
                    edges.append((i, j))
    return edges


BUILDERS = [ring_edges, star_edges, clustered_edges]


class GraphDataset(Dataset):
    def __init__(self, size, seed):
        rng = np.random.default_rng(seed)
        self.items = []
        for _ in range(size):
            label = int(rng.integers(NUM_CLASSES))
            n = int(rng.integers(8, 15))
            edges = np.array(BUILDERS[label](n, rng), dtype=np.int64)
            perm = rng.permutation(n)
            edges = perm[edges]
            edges = np.concatenate([edges, edges[:, ::-1]]).T
            feats = rng.normal(0, 1, size=(n, FEATURES)).astype(np.float32)
            self.items.append((torch.from_numpy(feats), torch.from_numpy(edges.copy()), label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


def collate_graphs(samples):
    feats, edges, graph_index, labels = [], [], [], []
    offset = 0
    for i, (x, edge_index, label) in enumerate(samples):
        feats.append(x)
        edges.append(edge_index + offset)
        graph_index.append(torch.full((x.shape[0],), i, dtype=torch.long))
        labels.append(label)
        offset += x.shape[0]
    return torch.cat(feats), torch.cat(edges, dim=1), torch.cat(graph_index), torch.tensor(labels)


class GINLayer(nn.Module):
    def __init__(self, dim_in, dim_out):
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.mlp = nn.Sequential(nn.Linear(dim_in, dim_out), nn.ReLU(), nn.Linear(dim_out, dim_out))

    def forward(self, x, edge_index):
        src, dst = edge_index
        agg = torch.zeros_like(x).index_add_(0, dst, x[src])
        return F.relu(self.mlp((1 + self.eps) * x + agg))


class GraphClassifier(nn.Module):
    def __init__(self, hidden=32, layers=3):
        super().__init__()
        self.stem = nn.Linear(FEATURES + 1, hidden)
        self.layers = nn.ModuleList([GINLayer(hidden, hidden) for _ in range(layers)])
        self.head = nn.Linear(hidden * 2, NUM_CLASSES)

    def forward(self, x, edge_index, graph_index, num_graphs):
        ones = torch.ones(x.shape[0], 1)
        h = self.stem(torch.cat([x, ones], dim=1))
        for layer in self.layers:
            h = layer(h, edge_index)
        count = torch.zeros(num_graphs, 1).index_add_(0, graph_index, ones)
        mean = torch.zeros(num_graphs, h.shape[1]).index_add_(0, graph_index, h) / count
        second = torch.zeros(num_graphs, h.shape[1]).index_add_(0, graph_index, h * h) / count
        spread = (second - mean ** 2).clamp(min=0).add(1e-6).sqrt()
        return self.head(torch.cat([mean, spread], dim=1))


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    correct, seen = 0, 0
    for x, edge_index, graph_index, label in loader:
        logits = model(x, edge_index, graph_index, len(label))
        correct += (logits.argmax(1) == label).sum().item()
        seen += len(label)
    return correct / seen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--batch-size", type=int, default=32)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    train_loader = DataLoader(GraphDataset(640, args.seed), batch_size=args.batch_size,
                              shuffle=True, collate_fn=collate_graphs)
    test_loader = DataLoader(GraphDataset(300, args.seed + 77), batch_size=50, collate_fn=collate_graphs)

    model = GraphClassifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    step = 0
    while step < args.steps:
        model.train()
        for x, edge_index, graph_index, label in train_loader:
            if step == args.steps:
                break
            logits = model(x, edge_index, graph_index, len(label))
            loss = F.cross_entropy(logits, label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 20 == 0:
                print(f"step {step:3d} loss {loss.item():.4f}")
            step += 1

    print(f"EVIDENCE test_accuracy={evaluate(model, test_loader):.4f}")


if __name__ == "__main__":
    main()
