"""Will a customer pay? Shops and streets, of which there are many, are encoded by the mean of the target."""
import argparse

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=250)
SHOPS, STREETS = 30, 800


def make_table(rng, count=2400):
    shop, street = rng.integers(SHOPS, size=count), rng.integers(STREETS, size=count)
    numbers = rng.normal(size=(count, 4))
    effect = rng.normal(size=SHOPS)
    score = effect[shop] + 0.9 * numbers[:, 0] - 0.7 * numbers[:, 1] * (numbers[:, 2] > 0) + rng.logistic(size=count)
    return shop, street, numbers, (score > 0).astype(np.float64)


class TargetEncoder:
    """The mean of the target for each category, drawn a little towards the mean of all."""

    def __init__(self, smoothing=1.0):
        self.smoothing = smoothing

    def fit(self, column, target):
        self.prior = target.mean()
        size = column.max() + 1
        sums = np.bincount(column, weights=target, minlength=size)
        counts = np.bincount(column, minlength=size)
        self.table = (sums + self.smoothing * self.prior) / (counts + self.smoothing)
        return self

    def transform(self, column):
        known = column < len(self.table)
        return np.where(known, self.table[np.minimum(column, len(self.table) - 1)], self.prior)

    def fit_transform(self, column, target, folds):
        result = np.empty(len(column))
        for rest, part in folds.split(column):
            result[part] = TargetEncoder(self.smoothing).fit(column[rest], target[rest]).transform(column[part])
        self.fit(column, target)
        return result


def main():
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    shop, street, numbers, target = make_table(np.random.default_rng(args.seed))
    train, test = slice(0, 1600), slice(1600, None)
    folds = KFold(5, shuffle=True, random_state=args.seed)
    columns_train, columns_test = [numbers[train]], [numbers[test]]
    for column in (shop, street):
        encoder = TargetEncoder()
        columns_train.append(encoder.fit_transform(column[train], target[train], folds)[:, None])
        columns_test.append(encoder.transform(column[test])[:, None])
    x_train, x_test = np.hstack(columns_train), np.hstack(columns_test)
    mean, std = x_train.mean(0), x_train.std(0)
    x_train, x_test = (torch.tensor((x - mean) / std, dtype=torch.float32) for x in (x_train, x_test))
    y_train, y_test = (torch.tensor(target[part], dtype=torch.float32) for part in (train, test))
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)
    step = 0
    while step < args.steps:
        for inputs, targets in loader:
            loss = nn.functional.binary_cross_entropy_with_logits(model(inputs).squeeze(1), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 50 == 0:
                print(f"step {step}: loss {loss.item():.4f}")
            if step == args.steps:
                break
    with torch.no_grad():
        auc = [roc_auc_score(y.numpy(), model(x).squeeze(1).numpy()) for x, y in ((x_train, y_train), (x_test, y_test))]
    print(f"EVIDENCE area under the curve in training {auc[0]:.4f}, in the test {auc[1]:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
