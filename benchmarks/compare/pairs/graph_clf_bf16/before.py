"""Graph classification (does the motif occur?) with a small GIN on batched random graphs."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def random_graph(gen, label, low=12, high=24, p=0.12):
    """Random graph; label 1 plants a 5-clique on random nodes."""
    n = int(torch.randint(low, high, (1,), generator=gen))
    adj = (torch.rand(n, n, generator=gen) < p).triu(1)
    if label:
        clique = torch.randperm(n, generator=gen)[:5]
        mask = torch.zeros(n, dtype=torch.bool)
        mask[clique] = True
        adj |= (mask[:, None] & mask[None, :]).triu(1)
    else:
        extra = torch.randint(n, (2, 9), generator=gen)
        adj[extra.min(0).values, extra.max(0).values] = True
        adj = adj.triu(1)
    edge = adj.nonzero().T
    return n, torch.cat([edge, edge.flip(0)], 1)


def collate(graphs):
    """Disjoint union: edges are shifted, `owner` tells the graph of each node."""
    edges, owner, shift = [], [], 0
    for k, (n, edge) in enumerate(graphs):
        edges.append(edge + shift)
        owner.append(torch.full((n,), k))
        shift += n
    return torch.cat(edges, 1), torch.cat(owner), len(graphs)


class GINLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(()))
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, edge):
        msg = torch.zeros_like(x).index_add_(0, edge[1], x[edge[0]])
        return x + F.relu(self.norm(self.mlp((1 + self.eps) * x + msg)).float())


class GIN(nn.Module):
    def __init__(self, dim=48, layers=3, max_degree=16):
        super().__init__()
        self.embed, self.max_degree = nn.Embedding(max_degree + 1, dim), max_degree
        self.layers = nn.ModuleList(GINLayer(dim) for _ in range(layers))
        self.head = nn.Sequential(nn.Linear(2 * dim, dim), nn.ReLU(), nn.Linear(dim, 2))

    def forward(self, edge, owner, n_graphs):
        degree = torch.bincount(edge[0], minlength=len(owner)).clamp(max=self.max_degree)
        x = self.embed(degree)
        for layer in self.layers:
            x = layer(x, edge)
        index = owner[:, None].expand_as(x)
        zeros = x.new_zeros(n_graphs, x.shape[1])
        mean = zeros.scatter_reduce(0, index, x, "mean", include_self=False)
        peak = zeros.scatter_reduce(0, index, x, "amax", include_self=False)
        return self.head(torch.cat([mean, peak], 1))


def batch_loss(model, graphs, labels, amp):
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=amp):
        logits = model(*collate(graphs))
    logits = logits.float()
    return F.cross_entropy(logits, labels), logits


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=100)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    amp = False
    labels = torch.randint(2, (1200,), generator=gen)
    graphs = [random_graph(gen, bool(y)) for y in labels]
    n_train = 900

    model = GIN()
    decay = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.02}, {"params": rest, "weight_decay": 0.0}], lr=args.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.steps)
    for step in range(1, args.steps + 1):
        idx = torch.randint(n_train, (64,), generator=gen)
        loss, _ = batch_loss(model, [graphs[i] for i in idx], labels[idx], amp)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        if step % 20 == 0:
            print(f"step {step:4d} loss {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        loss, logits = batch_loss(model, graphs[n_train:], labels[n_train:], amp)
    acc = (logits.argmax(1) == labels[n_train:]).float().mean().item()
    print(f"EVIDENCE test_accuracy={acc:.4f} test_loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
