"""Sharpness-aware minimization by hand: up to the worst point nearby, its gradient, back, and a step with that gradient."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from options import options


def climb(model, rho):
    """Move the weights by rho along the gradient. Returns what they were."""
    params = [p for p in model.parameters() if p.grad is not None]
    norm = torch.stack([p.grad.norm(2) for p in params]).norm(2)
    before = {p: p.data.clone() for p in params}
    with torch.no_grad():
        for p in params:
            p.add_(p.grad, alpha=float(rho / (norm + 1e-12)))
    return before


def restore(before):
    for p, data in before.items():
        p.data = data


def main():
    args = options(lr=0.1, width=64, steps=56)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    x, y = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
    loader = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=100, shuffle=True)
    # Neither dropout nor batch statistics: this model is the same in both modes, and stays in training mode.
    model = nn.Sequential(
        nn.Linear(64, args.width), nn.LayerNorm(args.width), nn.GELU(),
        nn.Linear(args.width, args.width), nn.LayerNorm(args.width), nn.GELU(), nn.Linear(args.width, 10),
    )  # fmt: skip
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    epochs = max(2, args.steps // len(loader))
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
    for epoch in range(epochs):
        for xb, yb in loader:
            loss = criterion(model(xb), yb)
            loss.backward()
            before = climb(model, rho=0.05)
            optimizer.zero_grad()
            worst = criterion(model(xb), yb)
            worst.backward()
            restore(before)
            optimizer.step()
            optimizer.zero_grad()
        scheduler.step()
        with torch.no_grad():
            logits = model(x[1400:])
        test, accuracy = F.cross_entropy(logits, y[1400:]).item(), (logits.argmax(1) == y[1400:]).float().mean().item()
        print(f"epoch {epoch}: loss {loss.item():.3f}, nearby {worst.item():.3f}, test {test:.3f}, {accuracy:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
