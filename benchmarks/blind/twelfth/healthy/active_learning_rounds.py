"""Active learning on breast cancer: an MLP trained anew each round, queries by entropy over dropout samples."""
import argparse

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from torch import nn


def build_model(n_features):
    return nn.Sequential(nn.Linear(n_features, 32), nn.ReLU(), nn.Dropout(0.3),
                         nn.Linear(32, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 2))


def train(model, x, y, lr, max_epochs, target=0.08):
    """Stops as soon as the training loss of an epoch is low enough."""
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=1e-4)
    weight = len(y) / (2.0 * torch.bincount(y, minlength=2).clamp(min=1).float())
    model.train()
    for epoch in range(1, max_epochs + 1):
        total = 0.0
        for idx in torch.randperm(len(x)).split(16):
            loss = nn.functional.cross_entropy(model(x[idx]), y[idx], weight=weight)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        if total / len(x) < target:
            break
    return epoch, total / len(x)


@torch.no_grad()
def mc_entropy(model, x, samples=10):
    model.train()       # dropout stays on
    p = torch.stack([model(x).softmax(1) for _ in range(samples)]).mean(0)
    return -(p * p.clamp(min=1e-8).log()).sum(1)


@torch.no_grad()
def test_accuracy(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=6, help="rounds")
    parser.add_argument("--query", type=int, default=12)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(args.seed)

    data = load_breast_cancer()
    order = rng.permutation(len(data.target))
    test_idx, pool = order[:150], order[150:]
    x = torch.tensor(StandardScaler().fit(data.data[pool]).transform(data.data), dtype=torch.float32)
    y = torch.tensor(data.target)
    # a few of either class to begin with
    first = [i for c in (0, 1) for i in rng.choice(pool[data.target[pool] == c], 6, replace=False)]
    labelled = np.array(first)
    pool = np.setdiff1d(pool, labelled)

    for round_no in range(1, args.steps + 1):
        model = build_model(x.shape[1])
        epochs, loss = train(model, x[labelled], y[labelled], args.lr, max_epochs=60)
        acc = test_accuracy(model, x[test_idx], y[test_idx])
        print(f"round {round_no}: {len(labelled)} labels, {epochs} epochs, loss {loss:.4f}, test accuracy {acc:.3f}")
        if acc > 0.985:
            print("good enough")
            break
        entropy = mc_entropy(model, x[pool])
        ask = pool[entropy.topk(args.query).indices.numpy()]
        labelled = np.concatenate([labelled, ask])
        pool = np.setdiff1d(pool, ask)


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
