"""Adversarial training: gradients to the input are taken in eval mode, then weights learn from the pushed rows in train mode."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


def push(model, x, y, size, rounds=3):
    """Projected gradient ascent on the rows; leaves no trace in the weights' gradients."""
    model.eval()
    delta = torch.empty_like(x).uniform_(-size, size).requires_grad_(True)
    for _ in range(rounds):
        loss = F.cross_entropy(model(x + delta), y)
        (grad,) = torch.autograd.grad(loss, delta)
        with torch.no_grad():
            delta += size / 2 * grad.sign()
            delta.clamp_(-size, size)
    model.train()
    return (x + delta).detach().clamp(0, 1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    digits = load_digits()
    x, y = torch.tensor(digits.data / 16.0, dtype=torch.float32), torch.tensor(digits.target)
    model = nn.Sequential(nn.Linear(64, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Dropout(0.1), nn.Linear(96, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        rows = torch.randint(0, 1200, (48,))
        pushed = push(model, x[rows], y[rows], 0.1)
        loss = F.cross_entropy(model(pushed), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 39:
            print(f"step {step + 1} loss {loss.item():.4f}")
    pushed = push(model, x[1200:], y[1200:], 0.1)
    model.eval()
    clean = (model(x[1200:]).argmax(1) == y[1200:]).float().mean().item()
    hard = (model(pushed).argmax(1) == y[1200:]).float().mean().item()
    print(f"RESULT clean={clean:.3f} pushed={hard:.3f}")


if __name__ == "__main__":
    main()
