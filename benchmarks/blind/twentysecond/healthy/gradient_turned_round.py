"""Domain adaptation with a gradient reversal layer: the features climb the loss that the domain head descends."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.strength * grad, None


def rows_of(domain, size):
    y = torch.randint(0, 2, (size,))
    x = torch.randn(size, 8)
    x[:, 0] += 2.0 * (2 * y - 1)
    x[:, 1] += 3.0 * domain
    x[:, 2] += 2.0 * (2 * y - 1) * (1 - domain)
    return x, y


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=150)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    features = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
    label, domain = nn.Linear(16, 2), nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))
    params = [p for m in (features, label, domain) for p in m.parameters()]
    optimizer = torch.optim.Adam(params, lr=args.lr)
    for step in range(args.steps):
        strength = 2 / (1 + math.exp(-10 * step / args.steps)) - 1
        x, y = rows_of(0, 48)
        other, _ = rows_of(1, 48)
        h = features(torch.cat([x, other]))
        where = torch.arange(2).repeat_interleave(48)
        told = F.cross_entropy(label(h[:48]), y)
        confused = F.cross_entropy(domain(Reverse.apply(h, strength)), where)
        optimizer.zero_grad()
        (told + confused).backward()
        optimizer.step()
        if step % 50 == 49:
            print(f"step {step + 1} label {told.item():.4f} domain {confused.item():.4f}")
    x, y = rows_of(1, 500)
    right = (label(features(x)).argmax(1) == y).float().mean().item()
    print(f"RESULT label={told.item():.4f} domain={confused.item():.4f} accuracy_there={right:.3f}")


if __name__ == "__main__":
    main()
