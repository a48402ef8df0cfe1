"""Active learning: each round the rows of most doubt get a label, and a new network begins from nothing on the larger set."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


def fit(x, y, lr, steps, seed):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(steps):
        rows = torch.randint(0, len(x), (min(32, len(x)),))
        loss = F.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=80)
    args = ap.parse_args()
    digits = load_digits()
    x, y = torch.tensor(digits.data / 16.0, dtype=torch.float32), torch.tensor(digits.target)
    order = torch.randperm(1300, generator=torch.Generator().manual_seed(args.seed))
    known, pool = order[:30].tolist(), order[30:].tolist()
    for turn in range(5):
        model = fit(x[known], y[known], args.lr, args.steps, args.seed + turn)
        with torch.no_grad():
            chances = model(x[pool]).softmax(1)
            right = (model(x[1300:]).argmax(1) == y[1300:]).float().mean().item()
        print(f"round {turn} labels {len(known)} accuracy {right:.3f}")
        doubt = -(chances * (chances + 1e-9).log()).sum(1)
        bought = {pool[i] for i in doubt.topk(25).indices.tolist()}
        known += sorted(bought)
        pool = [i for i in pool if i not in bought]
    print(f"RESULT labels={len(known) - 25} accuracy={right:.3f}")


if __name__ == "__main__":
    main()
