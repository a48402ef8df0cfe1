"""A range test before training: the rate grows until the loss runs away, then weights, optimizer and random state are put back."""
import argparse
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler


def batch_loss(model, x, y):
    rows = torch.randint(0, 120, (24,))
    return F.cross_entropy(model(x[rows]), y[rows])


def range_test(model, optimizer, x, y, low, high, steps):
    saved = copy.deepcopy(model.state_dict()), copy.deepcopy(optimizer.state_dict()), torch.get_rng_state()
    best, chosen, smooth = float("inf"), low, None
    for k in range(steps):
        rate = low * (high / low) ** (k / (steps - 1))
        for group in optimizer.param_groups:
            group["lr"] = rate
        loss = batch_loss(model, x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        smooth = loss.item() if smooth is None else 0.7 * smooth + 0.3 * loss.item()
        if smooth < best:
            best, chosen = smooth, rate
        if not math.isfinite(smooth) or smooth > 4 * best:
            break
    model.load_state_dict(saved[0])
    optimizer.load_state_dict(saved[1])
    torch.set_rng_state(saved[2])
    return chosen / 10


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-4, help="where the range test begins")
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    wine = load_wine()
    order = torch.randperm(len(wine.target), generator=torch.Generator().manual_seed(1))
    x = torch.tensor(StandardScaler().fit(wine.data[order[:120]]).transform(wine.data), dtype=torch.float32)[order]
    y = torch.tensor(wine.target)[order]
    model = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    rate = range_test(model, optimizer, x, y, args.lr, 10.0, 60)
    print(f"rate found: {rate:.4f}")
    for group in optimizer.param_groups:
        group["lr"] = rate
    for step in range(args.steps):
        loss = batch_loss(model, x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    right = (model(x[120:]).argmax(1) == y[120:]).float().mean().item()
    print(f"RESULT rate={rate:.4f} loss={loss.item():.4f} accuracy={right:.3f}")


if __name__ == "__main__":
    main()
