"""Recommendation on a bipartite graph: a pairwise ranking loss, and a contrast of two noisy views of users and items."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from scipy import sparse

USERS, ITEMS, TASTES = 60, 80, 5


def interactions(seed):
    rng = np.random.default_rng(seed)
    taste = rng.integers(0, TASTES, USERS)
    kind = rng.integers(0, TASTES, ITEMS)
    chance = np.where(taste[:, None] == kind[None], 0.5, 0.03)
    seen = rng.random((USERS, ITEMS)) < chance
    test = seen & (rng.random((USERS, ITEMS)) < 0.3)
    return seen & ~test, test


def normalised_graph(train):
    links = sparse.bmat([[None, sparse.csr_matrix(train)], [sparse.csr_matrix(train.T), None]]).tocoo()
    degree = np.maximum(np.asarray(links.sum(1)).ravel(), 1)
    value = 1 / np.sqrt(degree[links.row] * degree[links.col])
    index = torch.tensor(np.stack([links.row, links.col]), dtype=torch.long)
    graph = torch.sparse_coo_tensor(index, torch.tensor(value, dtype=torch.float32), (USERS + ITEMS,) * 2, check_invariants=False)
    return graph.coalesce().to_dense()


class LightGCN(nn.Module):
    def __init__(self, graph, width=24, layers=2):
        super().__init__()
        self.register_buffer("graph", graph)
        self.embed, self.layers = nn.Embedding(USERS + ITEMS, width), layers
        nn.init.normal_(self.embed.weight, std=0.1)

    def forward(self, noise=0.0):
        x, views = self.embed.weight, []
        for _ in range(self.layers):
            x = self.graph @ x
            if noise:
                x = x + x.sign() * F.normalize(torch.rand_like(x), dim=1) * noise
            views.append(x)
        return torch.stack(views).mean(0)


def ranking_loss(x, users, liked, other):
    margin = (x[users] * (x[USERS + liked] - x[USERS + other])).sum(1)
    return -F.logsigmoid(margin).mean()


def contrast_loss(a, b, rows, temperature=0.2):
    """InfoNCE over the rows of a batch, a mean as the ranking loss is."""
    a, b = F.normalize(a[rows], dim=1), F.normalize(b[rows], dim=1)
    scores = a @ b.T / temperature
    return -(scores.diagonal() - scores.logsumexp(1)).mean()


def recall(x, train, test, top=10):
    scores = x[:USERS] @ x[USERS:].T
    scores[torch.tensor(train)] = -1e9
    best = scores.topk(top).indices
    hits = torch.tensor(test).gather(1, best).sum(1).float()
    wanted = torch.tensor(test).sum(1).clamp(min=1, max=top).float()
    return (hits / wanted).mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--steps", type=int, default=150)
    ap.add_argument("--contrast", type=float, default=0.1)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    train, test = interactions(17)
    model = LightGCN(normalised_graph(train))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    pairs = torch.tensor(np.argwhere(train))
    share = 0.0
    for step in range(args.steps):
        picked = pairs[torch.randint(0, len(pairs), (128,))]
        users, liked = picked[:, 0], picked[:, 1]
        other = torch.randint(0, ITEMS, (128,))
        rank = ranking_loss(model(), users, liked, other)
        one, two = model(noise=0.1), model(noise=0.1)
        contrast = contrast_loss(one, two, users.unique()) + contrast_loss(one, two, USERS + liked.unique())
        loss = rank + args.contrast * contrast
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        share += (args.contrast * contrast / loss).item() / args.steps
        if step % 50 == 49:
            print(f"step {step + 1} rank {rank.item():.4f} contrast {contrast.item():.4f}")
    with torch.no_grad():
        found = recall(model(), train, test)
    print(f"EVIDENCE share_of_contrast={share:.3f} rank={rank.item():.4f} recall={found:.4f}")


if __name__ == "__main__":
    main()
