"""Who will write a paper with whom? Link prediction with a graph autoencoder on a random geometric graph."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def coauthors(n=220, radius=0.13):
    g = torch.Generator().manual_seed(15)
    pos = torch.rand(n, 2, generator=g)
    near = torch.cdist(pos, pos) < radius
    u, v = torch.triu(near, diagonal=1).nonzero(as_tuple=True)
    features = torch.randn(n, 24, generator=g)
    return features, u, v


def negative_edges(n, u, v, count, gen):
    taken = torch.zeros(n, n, dtype=torch.bool)
    taken[u, v] = taken[v, u] = True
    taken.fill_diagonal_(True)
    free = (~taken).triu(1).nonzero()
    pick = free[torch.randperm(len(free), generator=gen)[:count]]
    return pick[:, 0], pick[:, 1]


def normalised_adjacency(n, u, v):
    a = torch.eye(n)
    a[u, v] = a[v, u] = 1.0
    d = a.sum(1).rsqrt()
    return d[:, None] * a * d[None]


class GraphEncoder(nn.Module):
    def __init__(self, nodes, in_dim, dim=32):
        super().__init__()
        self.ident = nn.Embedding(nodes, 16)
        self.lin1 = nn.Linear(in_dim + 16, 64)
        self.lin2 = nn.Linear(64, dim)

    def forward(self, x, adj):
        h = torch.cat([x, self.ident.weight], 1)
        h = F.relu(adj @ self.lin1(h))
        return adj @ self.lin2(F.dropout(h, 0.2, self.training))


def decode(z, u, v):
    return (z[u] * z[v]).sum(1)


def auc(pos, neg):
    return ((pos[:, None] > neg[None]).float() + 0.5 * (pos[:, None] == neg[None]).float()).mean().item()


def main(args):
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(args.seed)
    x, u, v = coauthors()
    n = len(x)
    eids = torch.randperm(len(u), generator=gen)
    test_size = int(args.test_share * len(eids))
    test_pos_u, test_pos_v = u[eids[:test_size]], v[eids[:test_size]]
    train_pos_u, train_pos_v = u[eids[test_size:]], v[eids[test_size:]]
    test_neg_u, test_neg_v = negative_edges(n, u, v, test_size, gen)
    adj = normalised_adjacency(n, train_pos_u, train_pos_v)

    model = GraphEncoder(n, x.size(1))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        model.train()
        neg_u, neg_v = negative_edges(n, train_pos_u, train_pos_v, len(train_pos_u), gen)
        z = model(x, adj)
        score = torch.cat([decode(z, train_pos_u, train_pos_v), decode(z, neg_u, neg_v)])
        label = torch.cat([torch.ones(len(train_pos_u)), torch.zeros(len(neg_u))])
        loss = F.binary_cross_entropy_with_logits(score, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step} bce {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        z = model(x, adj)
        test_auc = auc(decode(z, test_pos_u, test_pos_v), decode(z, test_neg_u, test_neg_v))
    known = set((train_pos_u * n + train_pos_v).tolist())
    leaked = sum(e in known for e in (test_pos_u * n + test_pos_v).tolist())
    print(f"EVIDENCE test_edges_in_training={leaked} of {test_size} auc={test_auc:.4f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=0.01)
    p.add_argument("--steps", type=int, default=200)
    p.add_argument("--test-share", type=float, default=0.2)
    main(p.parse_args())
