"""Stratified folds on a table: scaling by fold, each fold stops when it wants to, its best weights vote on the test part."""
import argparse
import copy

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler


def tensor(x):
    return torch.tensor(np.asarray(x), dtype=torch.float32)


def fit_fold(x, y, valid_x, valid_y, lr, limit, patience=6):
    counts = np.bincount(y)
    sampler = WeightedRandomSampler((1.0 / counts[y]).tolist(), len(y), replacement=True)
    loader = DataLoader(TensorDataset(tensor(x), tensor(y)), batch_size=32, sampler=sampler)
    model = nn.Sequential(nn.Linear(x.shape[1], 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.05)
    best, state, waited, steps = -1.0, None, 0, 0
    while steps < limit and waited < patience:
        model.train()
        for xb, yb in loader:
            loss = nn.functional.binary_cross_entropy_with_logits(model(xb).squeeze(1), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps += 1
        model.eval()
        with torch.no_grad():
            area = roc_auc_score(valid_y, model(tensor(valid_x)).squeeze(1).numpy())
        if area > best + 1e-4:
            best, state, waited = area, copy.deepcopy(model.state_dict()), 0
        else:
            waited += 1
    model.load_state_dict(state)
    return model.eval(), best, steps


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=800)
    args = parser.parse_args()
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y = load_breast_cancer(return_X_y=True)
    x = x + 0.5 * x.std(0) * np.random.randn(*x.shape)
    rest_x, test_x, rest_y, test_y = train_test_split(x, y, test_size=0.2, stratify=y, random_state=args.seed)
    folds, votes = 5, []
    for number, (train, valid) in enumerate(StratifiedKFold(folds, shuffle=True, random_state=args.seed).split(rest_x, rest_y)):
        torch.manual_seed(args.seed * 10 + number)
        scaler = StandardScaler().fit(rest_x[train])
        model, best, steps = fit_fold(scaler.transform(rest_x[train]), rest_y[train], scaler.transform(rest_x[valid]), rest_y[valid],
                                      args.lr, args.steps // folds)
        with torch.no_grad():
            votes.append(model(tensor(scaler.transform(test_x))).squeeze(1).sigmoid().numpy())
        print(f"fold {number + 1}: area {best:.4f} after {steps} steps")
    print(f"test area of all folds together {roc_auc_score(test_y, np.mean(votes, 0)):.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
