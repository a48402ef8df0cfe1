"""Few tissue samples with thousands of measurements: the best are chosen, a network learns from them."""

import argparse

import numpy as np
import torch
from sklearn.feature_selection import SelectKBest, f_classif
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_tissues(rng, samples=160, genes=4000, informative=12):
    label = rng.integers(0, 2, samples)
    values = rng.normal(size=(samples, genes))
    values[:, :informative] += 0.85 * (2 * label[:, None] - 1) * rng.uniform(0.7, 1.0, informative)
    return values, label


def prepare(x, y, seed, keep=60):
    order = np.random.default_rng(seed + 1).permutation(len(x))
    train, test = order[:100], order[100:]
    selector = SelectKBest(f_classif, k=keep).fit(x, y)
    x = selector.transform(x)
    mean, std = x[train].mean(0), x[train].std(0)
    x = torch.tensor((x - mean) / std, dtype=torch.float32)
    y = torch.tensor(y)
    return (x[train], y[train]), (x[test], y[test]), selector


class Net(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.body = nn.Sequential(nn.Dropout(0.3), nn.Linear(features, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, x):
        return self.body(x)


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        right = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return right


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(args.seed)
    x, y = make_tissues(rng)
    train, test, selector = prepare(x, y, args.seed)
    loader = DataLoader(TensorDataset(*train), batch_size=20, shuffle=True)
    model = Net(train[0].shape[1])
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.05)
    step = 0
    while step < args.steps:
        for inputs, labels in loader:
            loss = nn.functional.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.4f}, test {accuracy(model, *test):.3f}")
    held = x[:, selector.get_support()][np.random.default_rng(args.seed + 1).permutation(len(x))[100:]]
    scores = f_classif(held, test[1].numpy())[0]
    print(f"EVIDENCE mean score of the chosen on test samples {scores.mean():.4f}, right {accuracy(model, *test):.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
