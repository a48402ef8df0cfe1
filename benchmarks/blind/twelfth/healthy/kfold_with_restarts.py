"""Tabular regression on diabetes: five folds, random restarts in each, every restart runs until its loss stops improving."""
import argparse

import numpy as np
import torch
from sklearn.datasets import load_diabetes
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn


def make_net(n_in):
    return nn.Sequential(nn.Linear(n_in, 24), nn.Tanh(), nn.Linear(24, 12), nn.Tanh(), nn.Linear(12, 1))


def fit(net, x, y, lr, max_epochs, tol=5e-3, window=5, batch_size=64):
    """Train until the mean loss over the last `window` epochs no longer beats that of the window before."""
    opt = torch.optim.Adam(net.parameters(), lr=lr, weight_decay=1e-3)
    loss_fn = nn.HuberLoss()
    history = []
    converged = False
    while not converged and len(history) < max_epochs:
        net.train()
        total = 0.0
        for idx in torch.randperm(len(x)).split(batch_size):
            opt.zero_grad()
            loss = loss_fn(net(x[idx]).squeeze(1), y[idx])
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        history.append(total / len(x))
        if len(history) >= 2 * window:
            before, now = np.mean(history[-2 * window:-window]), np.mean(history[-window:])
            converged = before - now < tol
    return history


def predict(net, x):
    net.eval()
    with torch.no_grad():
        return net(x).squeeze(1)


def main(args):
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    X, target = load_diabetes(return_X_y=True, scaled=False)
    scores = []
    for fold, (dev_idx, test_idx) in enumerate(KFold(5, shuffle=True, random_state=args.seed).split(X)):
        tr_idx, va_idx = train_test_split(dev_idx, test_size=0.2, random_state=args.seed + fold)
        xs, ys = StandardScaler().fit(X[tr_idx]), StandardScaler().fit(target[tr_idx, None])
        as_x = lambda i: torch.tensor(xs.transform(X[i]), dtype=torch.float32)
        as_y = lambda i: torch.tensor(ys.transform(target[i, None])[:, 0], dtype=torch.float32)
        best_net, best_val = None, float("inf")
        for restart in range(args.restarts):
            net = make_net(X.shape[1])
            history = fit(net, as_x(tr_idx), as_y(tr_idx), args.lr, args.steps)
            val = nn.functional.mse_loss(predict(net, as_x(va_idx)), as_y(va_idx)).item()
            print(f"fold {fold} restart {restart}: {len(history)} epochs, train {history[-1]:.4f}, val mse {val:.4f}")
            if val < best_val:
                best_net, best_val = net, val
        pred = ys.inverse_transform(predict(best_net, as_x(test_idx)).numpy()[:, None])[:, 0]
        scores.append(r2_score(target[test_idx], pred))
        print(f"fold {fold}: test R2 {scores[-1]:.3f}")
    print(f"R2 {np.mean(scores):.3f} +- {np.std(scores):.3f}")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=30, help="upper limit on epochs per restart")
    ap.add_argument("--restarts", type=int, default=2)
    main(ap.parse_args())
# SPDX-License-Identifier: Apache-2.0
