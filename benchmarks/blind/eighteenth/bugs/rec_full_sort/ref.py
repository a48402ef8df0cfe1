"""BPR matrix factorisation with full-sort evaluation on implicit feedback."""
import argparse
import copy

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

N_USERS, N_ITEMS = 300, 400


def make_interactions(seed, per_user=40):
    rng = np.random.default_rng(seed)
    u = rng.normal(0, 1, (N_USERS, 5))
    v = rng.normal(0, 1, (N_ITEMS, 5))
    pop = rng.normal(0, 0.7, N_ITEMS)
    utility = u @ v.T * 1.3 + pop + rng.gumbel(size=(N_USERS, N_ITEMS))
    liked = np.argsort(-utility, axis=1)[:, :per_user]
    liked = rng.permuted(liked, axis=1)
    return liked[:, :28], liked[:, 28:33], liked[:, 33:]


class FullSortLoader:
    """Batches of users with the items of their past and the items to be found."""

    def __init__(self, history, targets, batch_size=100, sequential=False):
        self.history, self.targets = history, targets
        self.batch_size, self.sequential = batch_size, sequential

    def history_index(self, users):
        rows = np.repeat(np.arange(len(users)), [len(self.history[u]) for u in users])
        cols = np.concatenate([self.history[u] for u in users])
        return torch.from_numpy(rows), torch.from_numpy(cols)

    def __iter__(self):
        for start in range(0, N_USERS, self.batch_size):
            users = np.arange(start, min(start + self.batch_size, N_USERS))
            history = self.history_index(users)
            yield torch.from_numpy(users), history, torch.from_numpy(self.targets[users])


class BPRMF(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.user = nn.Embedding(N_USERS, dim)
        self.item = nn.Embedding(N_ITEMS, dim)
        self.item_bias = nn.Parameter(torch.zeros(N_ITEMS))
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)

    def forward(self, users, items):
        return (self.user(users) * self.item(items)).sum(-1) + self.item_bias[items]

    def full_sort(self, users):
        return self.user(users) @ self.item.weight.T + self.item_bias


class NegativeSampler:
    def __init__(self, train, rng):
        self.rng = rng
        self.seen = np.zeros((N_USERS, N_ITEMS), dtype=bool)
        np.put_along_axis(self.seen, train, True, axis=1)

    def __call__(self, users):
        neg = self.rng.integers(0, N_ITEMS, len(users))
        clash = self.seen[users, neg]
        while clash.any():
            neg[clash] = self.rng.integers(0, N_ITEMS, clash.sum())
            clash = self.seen[users, neg]
        return neg


@torch.no_grad()
def recall_at_k(model, loader, k=20):
    hits, total = 0, 0
    for users, history, targets in loader:
        scores = model.full_sort(users)
        if history is not None:
            scores[history] = float("-inf")
        top = scores.topk(k, dim=1).indices
        hits += (top[:, :, None] == targets[:, None, :]).any(1).sum().item()
        total += targets.numel()
    return hits / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)

    train, valid, test = make_interactions(args.seed)
    sampler = NegativeSampler(train, rng)
    valid_loader = FullSortLoader(train, valid)
    test_loader = FullSortLoader(np.concatenate([train, valid], axis=1), test)
    pairs = np.stack([np.repeat(np.arange(N_USERS), train.shape[1]), train.reshape(-1)], axis=1)

    model = BPRMF()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=1e-6)
    best, best_state, best_step = -1.0, None, 0
    for step in range(1, args.steps + 1):
        batch = pairs[rng.integers(0, len(pairs), 1024)]
        users, pos = torch.from_numpy(batch[:, 0]), torch.from_numpy(batch[:, 1])
        neg = torch.from_numpy(sampler(batch[:, 0]))
        loss = -F.logsigmoid(model(users, pos) - model(users, neg)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            score = recall_at_k(model, valid_loader)
            if score > best:
                best, best_step = score, step
                best_state = copy.deepcopy(model.state_dict())
            print(f"step {step} loss {loss.item():.4f} valid_recall@20 {score:.4f}")

    model.load_state_dict(best_state)
    print(f"EVIDENCE test_recall@20 {recall_at_k(model, test_loader):.4f} best_step {best_step}")


if __name__ == "__main__":
    main()
