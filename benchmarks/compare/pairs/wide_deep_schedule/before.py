"""Wide and deep regression of diabetes progression: SGD for the wide part, Adam for the deep."""
import argparse

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_diabetes
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split


def cross_features(x):
    """Products of all pairs of columns."""
    i, j = np.triu_indices(x.shape[1])
    return x[:, i] * x[:, j]


class WideDeep(nn.Module):
    def __init__(self, n_wide, n_deep, hidden=48):
        super().__init__()
        self.wide = nn.Linear(n_wide, 1)
        self.deep = nn.Sequential(
            nn.Linear(n_deep, hidden), nn.ReLU(), nn.Dropout(0.1),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, 1))

    def forward(self, xw, xd):
        return (self.wide(xw) + self.deep(xd)).squeeze(1)


def standardise(a, ref):
    return (a - ref.mean(0)) / (ref.std(0) + 1e-8)


def load(seed):
    x, y = load_diabetes(return_X_y=True)
    tr, te = train_test_split(np.arange(len(y)), test_size=0.25, random_state=seed)
    x = standardise(x, x[tr])
    w = np.concatenate([x, standardise(cross_features(x), cross_features(x)[tr])], axis=1)
    y = (y - y[tr].mean()) / y[tr].std()
    as_t = lambda a: torch.tensor(a, dtype=torch.float32)
    return (as_t(w[tr]), as_t(x[tr]), as_t(y[tr])), (as_t(w[te]), as_t(x[te]), as_t(y[te]))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=60)
    args = ap.parse_args()
    torch.manual_seed(args.seed)

    (xw, xd, y), (tw, td, ty) = load(args.seed)
    model = WideDeep(xw.shape[1], xd.shape[1])
    opt_wide = torch.optim.SGD(model.wide.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-2)
    opt_deep = torch.optim.Adam(model.deep.parameters(), lr=args.lr)
    sched_deep = torch.optim.lr_scheduler.StepLR(opt_deep, step_size=20, gamma=0.5)

    n = len(y)
    for step in range(args.steps):
        idx = torch.randperm(n)[:96]
        pred = model(xw[idx], xd[idx])
        loss = nn.functional.smooth_l1_loss(pred, y[idx])
        opt_wide.zero_grad()
        opt_deep.zero_grad()
        loss.backward()
        opt_wide.step()
        opt_deep.step()
        sched_deep.step()
        if step % 10 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():.6f}")

    model.eval()
    with torch.no_grad():
        r2 = r2_score(ty.numpy(), model(tw, td).numpy())
    print(f"EVIDENCE r2={r2:.4f}")


if __name__ == "__main__":
    main()
