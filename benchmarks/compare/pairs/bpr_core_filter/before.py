"""Matrix factorisation with the BPR loss on simulated clicks; sparse user table with its own optimizer."""
import argparse
from collections import Counter

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def simulate_clicks(seed, n_users=700, n_items=400, dim=6, mean_clicks=16):
    """Popularity is skewed; taste decides among the items a user happens to see."""
    rng = np.random.default_rng(seed)
    users, items = rng.normal(size=(n_users, dim)), rng.normal(size=(n_items, dim))
    popularity = -1.0 * np.log(1 + rng.permutation(n_items))
    logits = 1.3 * users @ items.T / np.sqrt(dim) * 2 + popularity
    clicks = []
    for u in range(n_users):
        k = max(2, rng.poisson(mean_clicks))
        p = np.exp(logits[u] - logits[u].max())
        chosen = rng.choice(n_items, size=min(k, n_items), replace=False, p=p / p.sum())
        clicks += [(u, int(i)) for i in chosen]
    return clicks


def core_filter(clicks, min_count):
    """Repeatedly drop users and items with fewer than min_count clicks, then number them anew."""
    while True:
        by_user, by_item = Counter(u for u, _ in clicks), Counter(i for _, i in clicks)
        kept = [(u, i) for u, i in clicks if by_user[u] >= min_count and by_item[i] >= min_count]
        if len(kept) == len(clicks):
            break
        clicks = kept
    user_id = {u: k for k, u in enumerate(sorted({u for u, _ in clicks}))}
    item_id = {i: k for k, i in enumerate(sorted({i for _, i in clicks}))}
    return [(user_id[u], item_id[i]) for u, i in clicks], len(user_id), len(item_id)


def split_last(clicks, rng):
    """One random click of each user is held out."""
    by_user = {}
    for u, i in clicks:
        by_user.setdefault(u, []).append(i)
    train, test = [], []
    for u, items in by_user.items():
        hold = rng.integers(len(items))
        for k, i in enumerate(items):
            (test if k == hold else train).append((u, i))
    return torch.tensor(train), torch.tensor(test)


class BPR(nn.Module):
    def __init__(self, n_users, n_items, dim=24):
        super().__init__()
        self.user, self.item = nn.Embedding(n_users, dim, sparse=True), nn.Embedding(n_items, dim)
        self.bias = nn.Embedding(n_items, 1)
        for table in (self.user, self.item):
            nn.init.normal_(table.weight, std=0.1)
        nn.init.zeros_(self.bias.weight)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(-1) + self.bias(i).squeeze(-1)


def sample_negatives(u, seen, n_items):
    neg = torch.randint(n_items, u.shape)
    for _ in range(10):
        clash = seen[u, neg]
        if not clash.any():
            break
        neg[clash] = torch.randint(n_items, (int(clash.sum()),))
    return neg


@torch.no_grad()
def recall(model, test, seen, k=20):
    u, truth = test.T
    scores = model.user.weight[u] @ model.item.weight.T + model.bias.weight.T
    scores = scores.masked_fill(seen[u], float("-inf"))
    rank = (scores > scores.gather(1, truth[:, None])).sum(1)
    return (rank < k).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--steps", type=int, default=100)
    ap.add_argument("--data-seed", type=int, default=5)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    clicks, n_users, n_items = core_filter(simulate_clicks(args.data_seed), min_count=2)
    train, test = split_last(clicks, np.random.default_rng(args.data_seed))
    seen = torch.zeros(n_users, n_items, dtype=torch.bool)
    seen[train[:, 0], train[:, 1]] = True

    model = BPR(n_users, n_items)
    user_opt = torch.optim.SparseAdam([model.user.weight], lr=args.lr)
    item_opt = torch.optim.Adam([*model.item.parameters(), *model.bias.parameters()], lr=args.lr)
    for step in range(1, args.steps + 1):
        for _ in range(6):
            u, pos = train[torch.randint(len(train), (512,))].T
            neg = sample_negatives(u, seen, n_items)
            reg = 1e-4 * (model.item(pos).pow(2).sum(-1) + model.item(neg).pow(2).sum(-1)).mean()
            loss = -F.logsigmoid(model(u, pos) - model(u, neg)).mean() + reg
            user_opt.zero_grad()
            item_opt.zero_grad()
            loss.backward()
            user_opt.step()
            item_opt.step()
        if step % 20 == 0:
            print(f"step {step:4d} loss {loss.item():.4f}")
    print(f"EVIDENCE recall@20={recall(model, test, seen):.4f} users={n_users} items={n_items} clicks={len(clicks)}")


if __name__ == "__main__":
    main()
