"""Warm restarts: the rate falls by a cosine and jumps back, each round longer; the weights at each bottom vote together."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_moons


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.3)
    ap.add_argument("--steps", type=int, default=210)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    x, y = make_moons(800, noise=0.25, random_state=args.seed)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    model = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    first = max(1, args.steps // 7)
    schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=first, T_mult=2)
    snapshots = []
    for step in range(args.steps):
        rows = torch.randint(0, 500, (64,))
        loss = F.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        before = optimizer.param_groups[0]["lr"]
        schedule.step()
        if optimizer.param_groups[0]["lr"] > 2 * before:
            snapshots.append(copy.deepcopy(model).eval())
            print(f"step {step + 1} loss {loss.item():.4f} snapshot {len(snapshots)}")
    with torch.no_grad():
        votes = torch.stack([m(x[500:]).softmax(1) for m in snapshots + [model]]).mean(0)
    print(f"RESULT snapshots={len(snapshots)} accuracy={(votes.argmax(1) == y[500:]).float().mean().item():.3f}")


if __name__ == "__main__":
    main()
