"""Link prediction with a graph auto-encoder on a stochastic block model."""
import argparse

import torch
import torch.nn.functional as F
from sklearn.metrics import roc_auc_score
from torch import nn


def block_model(n, groups, gen, p_in=0.16, p_out=0.01):
    member = torch.randint(groups, (n,), generator=gen)
    same = member.unsqueeze(0) == member.unsqueeze(1)
    prob = torch.where(same, p_in, p_out)
    upper = (torch.rand(n, n, generator=gen) < prob).triu(1)
    edges = upper.nonzero()
    return edges[torch.randperm(len(edges), generator=gen)]


def normalised_adjacency(edges, n):
    a = torch.eye(n)
    a[edges[:, 0], edges[:, 1]] = 1.0
    a[edges[:, 1], edges[:, 0]] = 1.0
    d = a.sum(1).rsqrt()
    return d.unsqueeze(1) * a * d.unsqueeze(0)


def sample_non_edges(taken, count, gen):
    n = taken.shape[0]
    out = torch.empty(0, 2, dtype=torch.long)
    while len(out) < count:
        cand = torch.randint(n, (2 * count, 2), generator=gen)
        ok = (cand[:, 0] != cand[:, 1]) & ~taken[cand[:, 0], cand[:, 1]]
        out = torch.cat([out, cand[ok]])
    return out[:count]


class Encoder(nn.Module):
    def __init__(self, n, hidden=48, out=24):
        super().__init__()
        self.emb = nn.Parameter(torch.randn(n, hidden) * 0.3)
        self.fc1 = nn.Linear(hidden, hidden)
        self.fc2 = nn.Linear(hidden, out)

    def forward(self, adj):
        h = F.relu(adj @ self.fc1(self.emb))
        h = F.dropout(h, 0.1, self.training)
        return adj @ self.fc2(h)


def score(z, pairs):
    return (z[pairs[:, 0]] * z[pairs[:, 1]]).sum(1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--steps", type=int, default=50)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)

    n = 240
    edges = block_model(n, 6, gen)
    n_test = len(edges) // 10
    test_pos, train_pos = edges[:n_test], edges[n_test:]
    taken = torch.zeros(n, n, dtype=torch.bool)
    taken[edges[:, 0], edges[:, 1]] = True
    taken = taken | taken.t()
    test_neg = sample_non_edges(taken, n_test, gen)
    adj = normalised_adjacency(train_pos, n)

    net = Encoder(n)
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    for step in range(args.steps):
        neg = sample_non_edges(taken, len(train_pos), gen)
        z = net(adj)
        pos_loss = F.softplus(-score(z, train_pos)).mean()
        neg_loss = F.softplus(score(z, neg)).mean()
        loss = pos_loss + neg_loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 0 or step == args.steps - 1:
            print(f"step {step:3d}: loss {loss.item():.6f} (pos {pos_loss.item():.4f} neg {neg_loss.item():.4f})")

    net.eval()
    with torch.no_grad():
        z = net(adj)
        logits = torch.cat([score(z, test_pos), score(z, test_neg)])
    truth = torch.cat([torch.ones(n_test), torch.zeros(n_test)])
    print(f"EVIDENCE auc={roc_auc_score(truth.numpy(), logits.numpy()):.4f}")


if __name__ == "__main__":
    main()
