"""Stochastic depth: whole blocks are skipped at random in training, so their gradients are None in some steps; all are used in tests."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Residual(nn.Module):
    def __init__(self, width, keep):
        super().__init__()
        self.keep = keep
        self.norm, self.inner, self.outer = nn.LayerNorm(width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        if self.training and torch.rand(()) > self.keep:
            return x
        branch = self.outer(F.gelu(self.inner(self.norm(x))))
        return x + (branch / self.keep if self.training else branch)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=160)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    digits = load_digits()
    x, y = torch.tensor(digits.data / 16.0, dtype=torch.float32), torch.tensor(digits.target)
    depth = 6
    blocks = [Residual(48, 1 - 0.5 * k / (depth - 1)) for k in range(depth)]
    model = nn.Sequential(nn.Linear(64, 48), *blocks, nn.LayerNorm(48), nn.Linear(48, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.02)
    skipped = 0
    for step in range(args.steps):
        rows = torch.randint(0, 1200, (48,))
        loss = F.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        skipped += sum(b.inner.weight.grad is None for b in blocks)
        optimizer.step()
        if step % 40 == 39:
            print(f"step {step + 1} loss {loss.item():.4f} skipped {skipped}")
    model.eval()
    with torch.no_grad():
        right = (model(x[1200:]).argmax(1) == y[1200:]).float().mean().item()
    print(f"RESULT skipped={skipped} accuracy={right:.3f}")


if __name__ == "__main__":
    main()
