"""Digits with a small CNN: a batch is mixed, cut into one another or left as it is, by chance; warm-up and cosine."""
import argparse
import copy
import math

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        self.block = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16))
        self.head = nn.Linear(16 * 16, 10)

    def forward(self, x):
        x = self.stem(x)
        x = torch.relu(x + self.block(x))
        return self.head(nn.functional.max_pool2d(x, 2).flatten(1))


def augment(x):
    shifts = torch.randint(-1, 2, (2,)).tolist()
    if torch.rand(1) < 0.7:
        x = torch.roll(x, shifts, (2, 3))
    return x


def mix(x, y, rng):
    """Returns inputs, both labels and the share of the first."""
    kind = rng.choice(["none", "mixup", "cutmix"], p=[0.4, 0.3, 0.3])
    other = torch.randperm(len(x))
    if kind == "mixup":
        share = float(rng.beta(0.4, 0.4))
        return share * x + (1 - share) * x[other], y, y[other], share
    if kind == "cutmix":
        size = int(rng.integers(2, 6))
        top, left = rng.integers(0, 8 - size + 1, 2)
        x = x.clone()
        x[:, :, top:top + size, left:left + size] = x[other][:, :, top:top + size, left:left + size]
        return x, y, y[other], 1 - size * size / 64
    return x, y, y, 1.0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.08)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(args.seed)
    x, y = load_digits(return_X_y=True)
    x, y = torch.tensor(x, dtype=torch.float32).view(-1, 1, 8, 8) / 16, torch.tensor(y)
    order = torch.randperm(len(x))
    train = DataLoader(TensorDataset(x[order[:1300]], y[order[:1300]]), batch_size=64, shuffle=True)
    val_x, val_y = x[order[1300:]], y[order[1300:]]
    model = ConvNet()
    decay = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.SGD([{"params": decay, "weight_decay": 5e-4}, {"params": rest}], lr=args.lr, momentum=0.9, nesterov=True)
    warm = max(1, args.steps // 10)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: (s + 1) / warm if s < warm else 0.5 * (1 + math.cos(math.pi * (s - warm) / max(1, args.steps - warm))))
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    best, best_state, step = 0.0, None, 0
    while step < args.steps:
        model.train()
        for xb, yb in train:
            xb, ya, yc, share = mix(augment(xb), yb, rng)
            logits = model(xb)
            loss = criterion(logits, ya) if share == 1.0 else share * criterion(logits, ya) + (1 - share) * criterion(logits, yc)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            step += 1
            if step == args.steps:
                break
        model.eval()
        with torch.no_grad():
            right = (model(val_x).argmax(1) == val_y).float().mean().item()
        if right > best:
            best, best_state = right, copy.deepcopy(model.state_dict())
        print(f"step {step}: loss {loss.item():.4f}, val {right:.4f}")
    model.load_state_dict(best_state)
    print(f"best {best:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
