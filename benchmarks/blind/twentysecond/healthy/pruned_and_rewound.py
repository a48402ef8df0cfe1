"""Lottery tickets: after each round the smallest weights are cut, and those left go back to where they were early in training."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.nn.utils import prune


def fit(model, x, y, lr, steps, start=0, keep_at=None):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    early = None
    for step in range(start, steps):
        if step == keep_at:
            early = copy.deepcopy(model.state_dict())
        rows = torch.randint(0, 1200, (48,))
        loss = F.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item(), early


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--steps", type=int, default=80)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    digits = load_digits()
    x, y = torch.tensor(digits.data / 16.0, dtype=torch.float32), torch.tensor(digits.target)
    model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 48), nn.ReLU(), nn.Linear(48, 10))
    layers = [m for m in model if isinstance(m, nn.Linear)]
    for layer in layers:
        prune.identity(layer, "weight")
    keep_at = args.steps // 10
    loss, early = fit(model, x, y, args.lr, args.steps, keep_at=keep_at)
    for cut in range(3):
        prune.global_unstructured([(layer, "weight") for layer in layers], pruning_method=prune.L1Unstructured, amount=0.4)
        masks = {name: value for name, value in model.state_dict().items() if name.endswith("weight_mask")}
        model.load_state_dict({**early, **masks})
        loss, _ = fit(model, x, y, args.lr, args.steps, start=keep_at)
        left = sum(m.sum().item() for m in masks.values()) / sum(m.numel() for m in masks.values())
        print(f"round {cut + 1} left {left:.3f} loss {loss:.4f}")
    with torch.no_grad():
        right = (model(x[1200:]).argmax(1) == y[1200:]).float().mean().item()
    print(f"RESULT left={left:.3f} accuracy={right:.3f}")


if __name__ == "__main__":
    main()
