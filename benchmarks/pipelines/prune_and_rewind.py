"""Lottery tickets: train, prune by magnitude, rewind to the first weights, again; decay and masks applied by hand."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from options import options


def apply_masks(model, masks):
    for name, p in model.named_parameters():
        if name in masks:
            p.data.mul_(masks[name])


def prune(model, masks, share):
    """Drop the given share of the weights that are left, those closest to 0 in each matrix."""
    for name, p in model.named_parameters():
        if name in masks:
            left = p.data[masks[name].bool()].abs()
            masks[name][p.data.abs() <= left.quantile(share)] = 0


def train(model, masks, loader, lr, epochs, decay=0.01):
    """The loss of the last batch. Every fifth step the weights go halfway to where they were five steps before."""
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    slow, step = [p.detach().clone() for p in model.parameters()], 0
    for _ in range(epochs):
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(xb), yb)
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for p in model.parameters():
                    if p.dim() > 1:
                        p.mul_(1 - lr * decay)
                step += 1
                if step % 5 == 0:
                    for p, s in zip(model.parameters(), slow):
                        s.lerp_(p, 0.5)
                        p.copy_(s)
            apply_masks(model, masks)
    return loss.item()


def main():
    args = options(lr=8e-3, width=64, steps=84)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    x, y = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
    loader = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=100, shuffle=True)
    hidden = [nn.Linear(args.width, args.width), nn.ReLU()]
    model = nn.Sequential(nn.Linear(64, args.width), nn.ReLU(), *hidden, nn.Linear(args.width, 10))
    first = {name: p.detach().clone() for name, p in model.named_parameters()}
    masks = {name: torch.ones_like(p) for name, p in model.named_parameters() if name.endswith("weight")}
    rounds = 3
    for i in range(rounds):
        loss = train(model, masks, loader, args.lr, epochs=max(1, args.steps // len(loader) // rounds))
        model.eval()
        with torch.no_grad():
            accuracy = (model(x[1400:]).argmax(1) == y[1400:]).float().mean().item()
        model.train()
        left = sum(m.sum().item() for m in masks.values()) / sum(m.numel() for m in masks.values())
        print(f"round {i}: {left:.0%} of the weights, loss {loss:.3f}, accuracy {accuracy:.3f}")
        if i + 1 < rounds:
            prune(model, masks, share=0.5)
            for name, p in model.named_parameters():
                p.data.copy_(first[name])
            apply_masks(model, masks)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
