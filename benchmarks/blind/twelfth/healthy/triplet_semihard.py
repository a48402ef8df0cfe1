"""Metric learning on digits: batches of P classes by K pictures, semi-hard negatives, tested by nearest neighbours."""
import argparse
import logging

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("triplet")


class PKSampler:
    def __init__(self, labels, p, k, rng):
        self.by_class = {c: np.flatnonzero(labels == c) for c in np.unique(labels)}
        self.p, self.k, self.rng = p, k, rng

    def draw(self):
        classes = self.rng.choice(list(self.by_class), self.p, replace=False)
        return np.concatenate([self.rng.choice(self.by_class[c], self.k, replace=False) for c in classes])


class Embedder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Linear(96, dim))

    def forward(self, x):
        return F.normalize(self.body(x), dim=1)


def mine(emb, labels, margin):
    """Indices of (anchor, positive, negative): a random semi-hard negative for each pair, if there is any."""
    with torch.no_grad():
        dist = torch.cdist(emb, emb)
    same = labels[:, None] == labels[None, :]
    anchors, positives, negatives = [], [], []
    for a, p in torch.nonzero(same.triu(1)).tolist():
        d = dist[a]
        candidates = torch.nonzero(~same[a] & (d > d[p]) & (d < d[p] + margin)).flatten()
        if len(candidates) == 0:
            continue
        anchors.append(a)
        positives.append(p)
        negatives.append(candidates[torch.randint(len(candidates), ())].item())
    return anchors, positives, negatives


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--margin", type=float, default=0.3)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(args.seed)

    x, y = load_digits(return_X_y=True)
    x = (x / 16).astype(np.float32)
    perm = rng.permutation(len(x))
    x, y = x[perm], y[perm]
    x_train, y_train, x_test, y_test = x[:1200], y[:1200], x[1200:], y[1200:]
    sampler = PKSampler(y_train, p=8, k=5, rng=rng)
    model = Embedder()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    skipped = 0
    for step in range(1, args.steps + 1):
        model.train()
        idx = sampler.draw()
        xb = torch.from_numpy(x_train[idx])
        xb = xb + 0.1 * torch.randn_like(xb)
        labels = torch.from_numpy(y_train[idx])
        emb = model(xb)
        a, p, n = mine(emb, labels, args.margin)
        if not a:
            skipped += 1
            continue
        d_ap = (emb[a] - emb[p]).pow(2).sum(1).add(1e-9).sqrt()
        d_an = (emb[a] - emb[n]).pow(2).sum(1).add(1e-9).sqrt()
        loss = F.relu(d_ap - d_an + args.margin).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0 or step == args.steps:
            model.eval()
            with torch.no_grad():
                gallery, query = model(torch.from_numpy(x_train)).numpy(), model(torch.from_numpy(x_test)).numpy()
            acc = KNeighborsClassifier(5).fit(gallery, y_train).score(query, y_test)
            log.info("step %d: loss %.4f, %d triplets, skipped %d, 5-nn accuracy %.3f", step, loss.item(), len(a), skipped, acc)


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
