"""Recommendation by pairs: what is unseen is drawn anew in each epoch, by popularity in a part; users with one item are left out of tests."""
import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

USERS, ITEMS = 200, 120


class Interactions(Dataset):
    def __init__(self, pairs, rng):
        self.pairs, self.rng = pairs, rng
        self.seen = [set() for _ in range(USERS)]
        for u, i in pairs:
            self.seen[u].add(i)
        self.popularity = np.bincount([i for _, i in pairs], minlength=ITEMS) ** 0.75
        self.popularity = self.popularity / self.popularity.sum()
        self.resample()

    def resample(self):
        uniform = self.rng.integers(ITEMS, size=len(self.pairs))
        popular = self.rng.choice(ITEMS, size=len(self.pairs), p=self.popularity)
        self.negatives = np.where(self.rng.random(len(self.pairs)) < 0.3, popular, uniform)
        for k, (u, _) in enumerate(self.pairs):
            while self.negatives[k] in self.seen[u]:
                self.negatives[k] = self.rng.integers(ITEMS)

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, k):
        return self.pairs[k][0], self.pairs[k][1], int(self.negatives[k])


class Factors(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.user, self.item = nn.Embedding(USERS, width), nn.Embedding(ITEMS, width)
        self.bias = nn.Embedding(ITEMS, 1)
        nn.init.normal_(self.user.weight, std=0.05)
        nn.init.normal_(self.item.weight, std=0.05)
        nn.init.zeros_(self.bias.weight)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(-1) + self.bias(i).squeeze(-1)


def hits(model, train, held_out, k=10):
    model.eval()
    with torch.no_grad():
        scores = model.user.weight @ model.item.weight.t() + model.bias.weight.t()
    found = 0
    for user, item in held_out:
        row = scores[user].clone()
        row[list(train.seen[user])] = -float("inf")
        found += int(item in row.topk(k).indices.tolist())
    return found / len(held_out)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--steps", type=int, default=400)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(args.seed)
    tastes, kinds = rng.normal(size=(USERS, 4)), rng.normal(size=(ITEMS, 4))
    pairs, held_out = [], []
    for user in range(USERS):
        chance = np.exp(tastes[user] @ kinds.T)
        items = rng.choice(ITEMS, size=rng.integers(1, 16), replace=False, p=chance / chance.sum()).tolist()
        if len(items) > 1:
            held_out.append((user, items.pop()))
        pairs += [(user, i) for i in items]
    data = Interactions(pairs, rng)
    loader = DataLoader(data, batch_size=64, shuffle=True)
    model = Factors()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=args.lr)
    step = epoch = 0
    while step < args.steps:
        model.train()
        total = 0.0
        for u, positive, negative in loader:
            difference = model(u, positive) - model(u, negative)
            size = model.user(u).pow(2).sum(-1) + model.item(positive).pow(2).sum(-1) + model.item(negative).pow(2).sum(-1)
            loss = -nn.functional.logsigmoid(difference).mean() + 1e-3 * size.mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            step += 1
        epoch += 1
        data.resample()
        if epoch % 4 == 0:
            print(f"epoch {epoch}: loss {total / len(loader):.4f}, found among ten {hits(model, data, held_out):.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
