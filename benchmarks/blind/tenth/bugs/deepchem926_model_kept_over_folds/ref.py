"""Five-fold cross-validation of a small network on a table with few rows."""

import argparse

import numpy as np
import torch
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=300)
args = parser.parse_args()


def build_model():
    return nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


def make_table(rows=300):
    generator = np.random.default_rng(args.seed)
    x = generator.normal(size=(rows, 20)).astype(np.float32)
    chance = 1 / (1 + np.exp(-1.2 * x[:, 0] - 0.8 * x[:, 1] * x[:, 2]))
    return x, (generator.random(rows) < chance).astype(np.int64)


def train(model, loader, steps, lr):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    model.train()
    step = 0
    while step < steps:
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step >= steps:
                break
    return loss.item()


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y = make_table()
    folds = StratifiedKFold(n_splits=5, shuffle=True, random_state=args.seed)
    scores, starts = [], []
    for fold, (train_rows, valid_rows) in enumerate(folds.split(x, y)):
        model = build_model()
        scaler = StandardScaler().fit(x[train_rows])
        x_train, x_valid = (torch.from_numpy(scaler.transform(x[rows])) for rows in (train_rows, valid_rows))
        y_train, y_valid = torch.from_numpy(y[train_rows]), torch.from_numpy(y[valid_rows])
        starts.append(accuracy(model, x_valid, y_valid))
        loader = DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True)
        loss = train(model, loader, args.steps // 5, args.lr)
        scores.append(accuracy(model, x_valid, y_valid))
        print(f"fold {fold}: loss {loss:.4f}, right {scores[-1]:.4f}")
    print(f"EVIDENCE mean of the folds {np.mean(scores):.4f}, last fold {scores[-1]:.4f}, before training {np.mean(starts):.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
