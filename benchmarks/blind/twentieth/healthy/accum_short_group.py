"""Bee-hive weights: gradient accumulation where the last group of an epoch is a short one."""
import argparse

import torch
from torch import nn


def hives(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 12, generator=g)
    y = torch.sin(x[:, :3]).sum(1) + 0.3 * x[:, 5] * x[:, 6] + 0.1 * torch.randn(n, generator=g)
    return x, y


def groups(order, micro, accum):
    """Lists of up to `accum` micro-batches; the tail has fewer and smaller ones."""
    batches = list(order.split(micro))
    for i in range(0, len(batches), accum):
        yield batches[i : i + accum]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=150)
    ap.add_argument("--micro", type=int, default=24)
    ap.add_argument("--accum", type=int, default=4)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    x, y = hives(500, 1)
    val_x, val_y = hives(300, 2)
    model = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    step = 0
    while step < args.steps:
        for group in groups(torch.randperm(len(x)), args.micro, args.accum):
            rows = sum(len(part) for part in group)
            optimizer.zero_grad()
            total = 0.0
            for part in group:
                error = (model(x[part]).squeeze(1) - y[part]).pow(2).sum()
                loss = error / rows
                loss.backward()
                total += loss.item()
            optimizer.step()
            step += 1
            if step % 30 == 0:
                print(f"step {step} rows {rows} loss {total:.4f}")
            if step == args.steps:
                break
    with torch.no_grad():
        mse = (model(val_x).squeeze(1) - val_y).pow(2).mean().item()
    print(f"validation mse {mse:.4f} (variance {val_y.var().item():.4f})")


if __name__ == "__main__":
    main()
