"""Cross-validation: a new model for each fold, early stopping, the best weights put back for the test."""

import copy

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold

from options import options


def make_model(width):
    return nn.Sequential(nn.Linear(13, width), nn.BatchNorm1d(width), nn.LeakyReLU(), nn.Dropout(0.3), nn.Linear(width, 3))


def fit_fold(x, y, train_idx, val_idx, args, patience=3):
    model = make_model(args.width)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=args.lr)
    loss_fn = nn.CrossEntropyLoss()
    best, best_state, waited = float("inf"), None, 0
    for epoch in range(max(2, args.steps // 12)):
        model.train()
        for idx in np.array_split(np.random.permutation(train_idx), 4):
            optimizer.zero_grad()
            loss = loss_fn(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            val = loss_fn(model(x[val_idx]), y[val_idx]).item()
        if val < best - 1e-3:
            best, best_state, waited = val, copy.deepcopy(model.state_dict()), 0
        else:
            waited += 1
            if waited == patience:
                break
    model.load_state_dict(best_state)
    model.eval()
    with torch.no_grad():
        return (model(x[val_idx]).argmax(1) == y[val_idx]).float().mean().item()


def main():
    args = options(lr=0.05, width=32, steps=60)
    torch.manual_seed(args.seed)
    np.random.seed(args.seed)
    torch.set_num_threads(1)
    raw = load_wine()
    x = torch.tensor((raw.data - raw.data.mean(0)) / raw.data.std(0), dtype=torch.float32)
    y = torch.tensor(raw.target)
    folds = StratifiedKFold(n_splits=3, shuffle=True, random_state=args.seed)
    scores = [fit_fold(x, y, train_idx, val_idx, args) for train_idx, val_idx in folds.split(raw.data, raw.target)]
    print(f"accuracy {np.mean(scores):.3f} +- {np.std(scores):.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
