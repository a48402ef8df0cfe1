"""Link prediction on a graph of communities. A few links are held out for the test, none for validation."""
import argparse

import torch
from torch import nn
import torch.nn.functional as F


def community_graph(seed, nodes=150, groups=6):
    gen = torch.Generator().manual_seed(seed)
    group = torch.arange(nodes) % groups
    same = group[:, None] == group[None]
    chance = torch.where(same, 0.18, 0.012)
    adjacency = torch.triu(torch.rand(nodes, nodes, generator=gen) < chance, diagonal=1)
    features = F.one_hot(group, groups).float() + 1.5 * torch.randn(nodes, groups, generator=gen)
    return features, adjacency.nonzero().T


class RandomLinkSplit:
    """Train, validation and test links of an undirected graph. Messages run over training links only."""

    def __init__(self, num_val=0.0, num_test=0.2):
        self.num_val, self.num_test = num_val, num_test

    def __call__(self, edges, gen):
        count = edges.shape[1]
        num_val, num_test = int(self.num_val * count), int(self.num_test * count)
        order = torch.randperm(count, generator=gen)
        val, test = order[:num_val], order[num_val:num_val + num_test]
        train = order[num_val + num_test:]
        return edges[:, train], edges[:, val], edges[:, test]


class GraphEncoder(nn.Module):
    def __init__(self, nodes, features, width=32):
        super().__init__()
        self.identity = nn.Embedding(nodes, 16)
        self.first, self.second = nn.Linear(features + 16, width), nn.Linear(2 * width, width)

    def spread(self, h, edges):
        """Mean over neighbours, both ways of each link."""
        src, dst = torch.cat([edges, edges.flip(0)], dim=1)
        total = torch.zeros_like(h).index_add(0, dst, h[src])
        degree = torch.zeros(len(h)).index_add(0, dst, torch.ones(len(dst)))
        return total / degree.clamp(min=1)[:, None]

    def forward(self, x, edges):
        h = self.first(torch.cat([x, self.identity.weight], dim=1)).relu()
        h = self.second(torch.cat([h, self.spread(h, edges)], dim=1))
        return h + self.spread(h, edges)


def score(h, pairs):
    return (h[pairs[0]] * h[pairs[1]]).sum(-1)


def strangers(known, count, nodes, gen):
    """Pairs without a link between them."""
    pairs = torch.randint(0, nodes, (2, 4 * count), generator=gen)
    keep = ~known[pairs[0], pairs[1]] & (pairs[0] != pairs[1])
    return pairs[:, keep][:, :count]


def auc(positive, negative):
    return ((positive[:, None] > negative[None]).float() + 0.5 * (positive[:, None] == negative[None])).mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--steps", type=int, default=150)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 1)
    x, edges = community_graph(seed=21)
    train, _, test = RandomLinkSplit(num_val=0.0, num_test=0.2)(edges, gen)
    known = torch.zeros(len(x), len(x), dtype=torch.bool)
    known[edges[0], edges[1]] = known[edges[1], edges[0]] = True
    model = GraphEncoder(len(x), x.shape[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        h = model(x, train)
        negative = strangers(known, train.shape[1], len(x), gen)
        logits = torch.cat([score(h, train), score(h, negative)])
        target = torch.cat([torch.ones(train.shape[1]), torch.zeros(negative.shape[1])])
        loss = F.binary_cross_entropy_with_logits(logits, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        h = model(x, train)
        test_auc = auc(score(h, test), score(h, strangers(known, 400, len(x), gen)))
    pairs = set(map(tuple, train.T.tolist()))
    shared = sum(tuple(p) in pairs for p in test.T.tolist())
    print(f"EVIDENCE train_links={train.shape[1]} of={edges.shape[1]} test_links_in_train={shared} test_auc={test_auc:.4f}")


if __name__ == "__main__":
    main()
