"""Graph classification with a small graph transformer on packed batches of graphs."""
import argparse

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def random_graph(rng):
    """Label: do the neighbours of the hub carry, on average, positive charge?"""
    n = int(rng.integers(8, 15))
    adj = np.triu(rng.random((n, n)) < 0.2, 1)
    adj = adj | adj.T
    charge = rng.normal(0, 1, n)
    hub = int(rng.integers(0, n))
    neighbours = rng.choice([i for i in range(n) if i != hub], size=4, replace=False)
    adj[hub, :] = adj[:, hub] = False
    adj[hub, neighbours] = adj[neighbours, hub] = True
    is_hub = np.zeros(n)
    is_hub[hub] = 1.0
    label = int(charge[neighbours].mean() > 0)
    x = np.stack([charge, is_hub, adj.sum(1) / 4.0], axis=1)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(adj), label


def collate(graphs):
    sizes = [g[0].shape[0] for g in graphs]
    ptr = torch.tensor([0] + list(np.cumsum(sizes)))
    x = torch.cat([g[0] for g in graphs])
    adj = torch.block_diag(*[g[1].float() for g in graphs])
    y = torch.tensor([g[2] for g in graphs])
    return x, adj, ptr, y


class GraphAttention(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.heads, self.dk = heads, dim // heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.edge_bias = nn.Parameter(torch.tensor([1.0] * heads))

    def forward(self, x, adj, batch_mask):
        n = x.shape[0]
        q, k, v = (t.reshape(n, self.heads, self.dk).transpose(0, 1)
                   for t in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-1, -2) / self.dk ** 0.5
        scores = scores + self.edge_bias[:, None, None] * adj
        scores = scores + batch_mask
        attn = F.softmax(scores, dim=-1)
        return self.out((attn @ v).transpose(0, 1).reshape(n, -1))


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = GraphAttention(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x, adj, batch_mask):
        x = x + self.attn(self.norm1(x), adj, batch_mask)
        return x + self.ff(self.norm2(x))


class GraphTransformer(nn.Module):
    def __init__(self, dim=32, depth=2):
        super().__init__()
        self.embed = nn.Linear(3, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.head = nn.Linear(dim, 2)

    def make_batch_mask(self, ptr):
        n = int(ptr[-1])
        mask = torch.full((n, n), -1e6)
        for start, end in zip(ptr[:-1], ptr[1:]):
            mask[start:end, start:end] = 0.0
        return mask

    def forward(self, x, adj, ptr):
        batch_mask = self.make_batch_mask(ptr)
        hub = x[:, 1] == 1
        h = self.embed(x)
        for block in self.blocks:
            h = block(h, adj, batch_mask)
        return self.head(h[hub])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)

    train = [random_graph(rng) for _ in range(1200)]
    test = [random_graph(rng) for _ in range(400)]
    model = GraphTransformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)

    for step in range(1, args.steps + 1):
        idx = rng.choice(len(train), size=24, replace=False)
        x, adj, ptr, y = collate([train[i] for i in idx])
        loss = F.cross_entropy(model(x, adj, ptr), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f}")

    model.eval()
    correct = 0
    with torch.no_grad():
        for i in range(0, len(test), 25):
            x, adj, ptr, y = collate(test[i:i + 25])
            correct += (model(x, adj, ptr).argmax(1) == y).sum().item()
    print(f"EVIDENCE test_acc {correct / len(test):.4f}")


if __name__ == "__main__":
    main()
