"""Snapshot ensemble: cosine schedule with warm restarts, and the momentum is thrown away at each restart on purpose."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_wine


def load(seed):
    x, y = load_wine(return_X_y=True)
    x = torch.tensor(x, dtype=torch.float32)
    y = torch.tensor(y)
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(seed))
    train, test = order[:120], order[120:]
    mean, std = x[train].mean(0), x[train].std(0)
    x = (x - mean) / std
    return x[train], y[train], x[test], y[test]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--steps", type=int, default=160)
    ap.add_argument("--cycle", type=int, default=40)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y, x_test, y_test = load(args.seed)
    model = nn.Sequential(nn.Linear(13, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=args.cycle, eta_min=args.lr / 100)
    gen = torch.Generator().manual_seed(args.seed)
    snapshots = []
    for step in range(1, args.steps + 1):
        idx = torch.randperm(len(y), generator=gen)[:32]
        loss = F.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % args.cycle == 0:
            snapshots.append(copy.deepcopy(model).eval())
            optimizer.state.clear()
            print(f"step {step} snapshot {len(snapshots)} loss {loss.item():.4f} next lr {optimizer.param_groups[0]['lr']:.4f}")
    if not snapshots:
        snapshots.append(copy.deepcopy(model).eval())
    with torch.no_grad():
        mean_prob = torch.stack([m(x_test).softmax(1) for m in snapshots]).mean(0)
    acc = (mean_prob.argmax(1) == y_test).float().mean().item()
    print(f"RESULT snapshots={len(snapshots)} ensemble_accuracy={acc:.3f}")


if __name__ == "__main__":
    main()
