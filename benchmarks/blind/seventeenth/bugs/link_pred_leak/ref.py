"""Friend recommendation as link prediction with a two-layer graph encoder (plain torch)."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.metrics import average_precision_score, roc_auc_score


def make_graph(rng, n=500, groups=10, p_in=0.14, p_out=0.006, n_feat=24):
    """Stochastic block model with noisy node features."""
    group = rng.integers(groups, size=n)
    prob = np.where(group[:, None] == group[None, :], p_in, p_out)
    upper = np.triu(rng.random((n, n)) < prob, k=1)
    edges = np.stack(np.nonzero(upper))
    centers = rng.normal(size=(groups, n_feat))
    feats = centers[group] * 0.5 + rng.normal(size=(n, n_feat))
    return torch.tensor(edges), torch.tensor(feats, dtype=torch.float32)


class EdgeSplit:
    """70 / 10 / 20 split of undirected edges."""

    def __init__(self, edges, rng):
        perm = torch.from_numpy(rng.permutation(edges.shape[1]))
        n_train, n_val = int(0.7 * len(perm)), int(0.1 * len(perm))
        self.train = edges[:, perm[:n_train]]
        self.val = edges[:, perm[n_train:n_train + n_val]]
        self.test = edges[:, perm[n_train + n_val:]]
        self.all = edges


def normalized_adjacency(edges, n):
    """D^-1/2 (A + I) D^-1/2 as a sparse matrix."""
    loops = torch.arange(n)
    row = torch.cat([edges[0], edges[1], loops])
    col = torch.cat([edges[1], edges[0], loops])
    deg = torch.zeros(n).index_add_(0, row, torch.ones(len(row)))
    weight = (deg[row] * deg[col]).rsqrt()
    return torch.sparse_coo_tensor(torch.stack([row, col]), weight, (n, n), check_invariants=True).coalesce()


def sample_negatives(n, count, known, gen):
    out = []
    while len(out) < count:
        pairs = torch.randint(n, (2 * count, 2), generator=gen).tolist()
        out += [(min(a, b), max(a, b)) for a, b in pairs if a != b and (min(a, b), max(a, b)) not in known]
    return torch.tensor(out[:count]).T


class Encoder(nn.Module):
    def __init__(self, n_feat, hidden=64, out=32):
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(n_feat, hidden), nn.Linear(hidden, out)
        self.drop = nn.Dropout(0.3)

    def forward(self, x, adj):
        h = F.relu(torch.sparse.mm(adj, self.lin1(x)))
        return torch.sparse.mm(adj, self.lin2(self.drop(h)))


class Decoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, z, pairs):
        return self.net(z[pairs[0]] * z[pairs[1]]).squeeze(-1)


@torch.no_grad()
def evaluate(encoder, decoder, x, adj, pos, neg):
    encoder.eval()
    z = encoder(x, adj)
    score = torch.cat([decoder(z, pos), decoder(z, neg)]).numpy()
    label = np.r_[np.ones(pos.shape[1]), np.zeros(neg.shape[1])]
    encoder.train()
    return roc_auc_score(label, score), average_precision_score(label, score)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=100)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    gen = torch.Generator().manual_seed(args.seed)

    edges, x = make_graph(rng)
    n = len(x)
    split = EdgeSplit(edges, rng)
    adj = normalized_adjacency(split.train, n)
    known = set(map(tuple, split.all.T.tolist()))
    val_neg = sample_negatives(n, split.val.shape[1], known, gen)
    test_neg = sample_negatives(n, split.test.shape[1], known, gen)

    encoder, decoder = Encoder(x.shape[1]), Decoder()
    params = list(encoder.parameters()) + list(decoder.parameters())
    opt = torch.optim.AdamW(params, lr=args.lr, weight_decay=1e-3)
    train_known = set(map(tuple, split.train.T.tolist()))

    best_val, best_state = 0.0, None
    for step in range(1, args.steps + 1):
        neg = sample_negatives(n, split.train.shape[1], train_known, gen)
        z = encoder(x, adj)
        logits = torch.cat([decoder(z, split.train), decoder(z, neg)])
        target = torch.cat([torch.ones(split.train.shape[1]), torch.zeros(neg.shape[1])])
        loss = F.binary_cross_entropy_with_logits(logits, target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 0 or step == args.steps:
            auc, _ = evaluate(encoder, decoder, x, adj, split.val, val_neg)
            if auc > best_val:
                best_val = auc
                best_state = [{k: v.clone() for k, v in m.state_dict().items()} for m in (encoder, decoder)]
        if step % 20 == 0:
            print(f"step {step:4d} loss {loss.item():.4f} val auc {auc:.4f}")

    encoder.load_state_dict(best_state[0])
    decoder.load_state_dict(best_state[1])
    auc, ap_score = evaluate(encoder, decoder, x, adj, split.test, test_neg)
    print(f"EVIDENCE test_auc={auc:.4f} test_ap={ap_score:.4f} val_auc={best_val:.4f}")


if __name__ == "__main__":
    main()
