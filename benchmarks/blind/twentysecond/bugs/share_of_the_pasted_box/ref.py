"""Digits with CutMix: a box of another image is pasted in, and the loss weighs both labels by their areas."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class CutMix:
    def __init__(self, seed, alpha=1.0, chance=0.8):
        self.rng, self.alpha, self.chance = np.random.default_rng(seed), alpha, chance

    def box(self, size, lam):
        side = int(round(size * (1 - lam) ** 0.5))
        top, left = self.rng.integers(0, size - side + 1, 2)
        return top, left, side

    def __call__(self, images, labels):
        """The images, both labels, and the share of the first image that is left."""
        if self.rng.random() > self.chance:
            return images, labels, labels, 1.0
        size = images.shape[-1]
        order = torch.tensor(self.rng.permutation(len(images)))
        top, left, side = self.box(size, self.rng.beta(self.alpha, self.alpha))
        mixed = images.clone()
        mixed[..., top:top + side, left:left + side] = images[order][..., top:top + side, left:left + side]
        lam = 1.0 - side * side / (size * size)
        return mixed, labels, labels[order], lam


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                                      nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Linear(32 * 16, 10)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


def mixed_loss(logits, first, second, lam):
    return lam * F.cross_entropy(logits, first) + (1 - lam) * F.cross_entropy(logits, second)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    digits = load_digits()
    x = torch.tensor(digits.images / 16.0, dtype=torch.float32)[:, None]
    y = torch.tensor(digits.target)
    loader = DataLoader(TensorDataset(x[:1000], y[:1000]), batch_size=40, shuffle=True, drop_last=True)
    model, cutmix = ConvNet(), CutMix(args.seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.steps)
    step, surer = 0, 0.0
    while step < args.steps:
        model.train()
        for images, labels in loader:
            images, first, second, lam = cutmix(images, labels)
            logits = model(images)
            loss = mixed_loss(logits, first, second, lam)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            larger = first if lam > 0.5 else second
            surer += (logits.argmax(1) == larger).float().mean().item() / args.steps
            step += 1
            if step >= args.steps:
                break
        print(f"step {step} loss {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        logits = model(x[1000:])
    right = (logits.argmax(1) == y[1000:]).float().mean().item()
    print(f"EVIDENCE loss={loss.item():.4f} agrees_with_larger={surer:.4f} accuracy={right:.4f} "
          f"held_out={F.cross_entropy(logits, y[1000:]).item():.4f}")


if __name__ == "__main__":
    main()
