"""Next-item recommender for sessions: sparse item table with SparseAdam, GRU with Adam, drawn negatives, hit rate."""
import argparse

import numpy as np
import torch
from torch import nn

N_ITEMS, PAD = 400, 0


def make_sessions(n, rng):
    """Users stay in one of 20 categories and move along a popularity-weighted walk; item ids start at 1."""
    category = np.arange(N_ITEMS) % 20
    popularity = 1.0 / (1 + np.arange(N_ITEMS) // 20)
    members = [np.flatnonzero(category == c) for c in range(20)]
    weights = [popularity[m] / popularity[m].sum() for m in members]
    out = []
    for _ in range(n):
        c = rng.integers(20)
        session = []
        for _ in range(2 + rng.poisson(4)):
            if rng.random() < 0.15:
                c = (c + 1) % 20
            session.append(1 + int(rng.choice(members[c], p=weights[c])))
        out.append(session)
    return out


def pad(sessions, max_len=12):
    sessions = [s[-max_len - 1:] for s in sessions]
    width = max(len(s) for s in sessions)
    batch = torch.full((len(sessions), width), PAD)
    for i, s in enumerate(sessions):
        batch[i, :len(s)] = torch.tensor(s)
    return batch[:, :-1], batch[:, 1:]


class SessionRec(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.items = nn.Embedding(N_ITEMS + 1, dim, padding_idx=PAD, sparse=True)
        nn.init.normal_(self.items.weight, std=0.1)
        with torch.no_grad():
            self.items.weight[PAD].zero_()
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.proj = nn.Linear(dim, dim)

    def encode(self, seq):
        return self.proj(self.gru(self.items(seq))[0])

    def sampled_loss(self, seq, target, negatives):
        keep = target != PAD
        h, pos = self.encode(seq)[keep], target[keep]
        pos_score = (h * self.items(pos)).sum(1, keepdim=True)
        neg_score = h @ self.items(negatives).t()
        neg_score = neg_score.masked_fill(negatives[None, :] == pos[:, None], float("-inf"))
        return nn.functional.cross_entropy(torch.cat([pos_score, neg_score], 1), torch.zeros(len(pos), dtype=torch.long))

    @torch.no_grad()
    def hit_rate(self, sessions, k=10):
        hits = 0
        for start in range(0, len(sessions), 100):
            chunk = sessions[start:start + 100]
            seq, target = pad(chunk)
            last = (target != PAD).sum(1) - 1
            rows = torch.arange(len(chunk))
            scores = self.encode(seq)[rows, last] @ self.items.weight[1:].t()
            hits += (scores.topk(k, dim=1).indices + 1 == target[rows, last][:, None]).any(1).sum().item()
        return hits / len(sessions)


parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=1e-2)
parser.add_argument("--steps", type=int, default=180)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
rng = np.random.default_rng(args.seed)
sessions = make_sessions(2300, rng)
train, test = sessions[:2000], sessions[2000:]
model = SessionRec()
sparse_opt = torch.optim.SparseAdam(list(model.items.parameters()), lr=args.lr)
dense_opt = torch.optim.Adam([p for n, p in model.named_parameters() if not n.startswith("items")], lr=args.lr / 2)
print(f"before training: hit@10 {model.hit_rate(test):.3f}")
for step in range(1, args.steps + 1):
    model.train()
    seq, target = pad([train[i] for i in rng.choice(len(train), 48, replace=False)])
    negatives = torch.from_numpy(rng.integers(1, N_ITEMS + 1, size=100))
    loss = model.sampled_loss(seq, target, negatives)
    sparse_opt.zero_grad()
    dense_opt.zero_grad()
    loss.backward()
    sparse_opt.step()
    dense_opt.step()
    if step % 60 == 0 or step == args.steps:
        model.eval()
        print(f"step {step}: loss {loss.item():.4f}, {int((target != PAD).sum())} targets, hit@10 {model.hit_rate(test):.3f}")
# SPDX-License-Identifier: Apache-2.0
