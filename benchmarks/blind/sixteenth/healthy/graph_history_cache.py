"""Node classification on a citation-like graph, mini-batches with historical embeddings (GAS / VR-GCN).

Two optimizers: SparseAdam for the free node embeddings, AdamW for the layers. Hidden states
of nodes outside the batch come from a cache that is written without gradient. Batches
without labelled nodes refresh the cache and make no step.
"""
import argparse

import torch
from torch import nn
from torch.nn import functional as F

NODES, CLASSES, FEATURES = 1200, 4, 24


def parse_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--steps", type=int, default=300)
    return ap.parse_args()


def stochastic_block_graph(seed):
    """Communities with noisy features; 8 % of the nodes are labelled."""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(CLASSES, (NODES,), generator=g)
    a = torch.randint(NODES, (14000,), generator=g)
    b = torch.randint(NODES, (14000,), generator=g)
    keep = (y[a] == y[b]) | (torch.rand(len(a), generator=g) < 0.15)
    a, b = a[keep & (a != b)], b[keep & (a != b)]
    adj = torch.zeros(NODES, NODES)
    adj[a, b] = adj[b, a] = 1.0
    adj.fill_diagonal_(1.0)
    x = 0.5 * F.one_hot(y, FEATURES).float() + torch.randn(NODES, FEATURES, generator=g)
    order = torch.randperm(NODES, generator=g)
    return adj / adj.sum(1, keepdim=True), x, y, order[:96], order[96:400], order[400:]


class History:
    """Last known hidden state of all nodes, and its age in batches."""

    def __init__(self, n, width):
        self.value = torch.zeros(n, width)
        self.age = torch.zeros(n)

    @torch.no_grad()
    def push(self, idx, h):
        self.value[idx] = h
        self.age += 1
        self.age[idx] = 0

    def pull_with(self, idx, h):
        """Stale rows as constants, the rows of this batch with gradient."""
        return self.value.clone().index_copy(0, idx, h)


class CachedGCN(nn.Module):
    def __init__(self, width=32, free=8):
        super().__init__()
        self.free = nn.Embedding(NODES, free, sparse=True)
        nn.init.normal_(self.free.weight, std=0.01)
        self.first = nn.Linear(FEATURES + free, width)
        self.second = nn.Linear(width, CLASSES)

    def hidden(self, adj_rows, x):
        """Layer 1 for the given rows; the inputs are cheap, so all neighbours are used."""
        free = self.free(torch.arange(NODES))
        return F.relu(self.first(adj_rows @ torch.cat([x, free], dim=1)))

    def output(self, adj_rows, h):
        return self.second(adj_rows @ F.dropout(h, 0.3, self.training))


@torch.no_grad()
def evaluate(model, adj, x, y, nodes):
    model.eval()
    logits = model.output(adj[nodes], model.hidden(adj, x))
    model.train()
    return F.cross_entropy(logits, y[nodes]).item(), (logits.argmax(1) == y[nodes]).float().mean().item()


def clusters(parts):
    """A new random partition in every epoch."""
    return torch.randperm(NODES).chunk(parts)


def main():
    args = parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    adj, x, y, train, valid, test = stochastic_block_graph(args.seed)
    labelled = torch.zeros(NODES, dtype=torch.bool)
    labelled[train] = True

    model = CachedGCN()
    history = History(NODES, 32)
    dense_params = [*model.first.parameters(), *model.second.parameters()]
    opt_dense = torch.optim.AdamW(dense_params, lr=args.lr, weight_decay=5e-2)
    opt_sparse = torch.optim.SparseAdam(model.free.parameters(), lr=0.1 * args.lr)

    with torch.no_grad():  # fill the cache once, without a step
        history.push(torch.arange(NODES), model.hidden(adj, x))

    step = skipped = visits = epoch = 0
    while visits < args.steps:
        parts = 40 if epoch % 2 else 24
        for nodes in clusters(parts):
            visits += 1
            here = labelled[nodes]
            if not here.any():
                with torch.no_grad():
                    history.push(nodes, model.hidden(adj[nodes], x))
                skipped += 1
                continue
            h = model.hidden(adj[nodes], x)
            logits = model.output(adj[nodes[here]], history.pull_with(nodes, h))
            loss = F.cross_entropy(logits, y[nodes[here]], label_smoothing=0.05)
            opt_dense.zero_grad()
            opt_sparse.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(dense_params, 2.0)
            opt_dense.step()
            opt_sparse.step()
            history.push(nodes, h.detach())
            step += 1
            if visits >= args.steps:
                break
        epoch += 1
        val, acc = evaluate(model, adj, x, y, valid)
        print(f"epoch {epoch:2d} ({parts} parts) loss {loss.item():.3f} val {val:.3f} acc {acc:.3f} mean age {history.age.mean().item():.1f}")

    val, acc = evaluate(model, adj, x, y, valid)
    _, test_acc = evaluate(model, adj, x, y, test)
    print(f"EVIDENCE val_loss={val:.4f} val_acc={acc:.4f} test_acc={test_acc:.4f} steps={step} skipped={skipped}")


if __name__ == "__main__":
    main()
