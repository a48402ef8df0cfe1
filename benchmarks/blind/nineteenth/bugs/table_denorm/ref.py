"""Disease progression regression (diabetes table) with a residual MLP on min-max scaled targets."""
import argparse

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_diabetes
from torch.utils.data import DataLoader, TensorDataset


class MinMax:
    """Scale to [0, 1] with the bounds of the training part."""

    def __init__(self, values):
        self.low = values.min(dim=0).values
        self.high = values.max(dim=0).values

    def transform(self, values):
        return (values - self.low) / (self.high - self.low)

    def inverse(self, scaled):
        return scaled * (self.high - self.low) + self.low


class Standardizer:
    def __init__(self, values):
        self.mean, self.std = values.mean(0), values.std(0)

    def __call__(self, values):
        return (values - self.mean) / self.std


class ResidualMLP(nn.Module):
    def __init__(self, features, width=64, depth=3, dropout=0.1):
        super().__init__()
        self.stem = nn.Linear(features, width)
        self.blocks = nn.ModuleList([
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width * 2), nn.ReLU(),
                          nn.Dropout(dropout), nn.Linear(width * 2, width))
            for _ in range(depth)
        ])
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 1))

    def forward(self, x):
        h = self.stem(x)
        for block in self.blocks:
            h = h + block(h)
        return self.head(h)


def load_table(seed):
    data = load_diabetes(scaled=False)
    x = torch.tensor(data.data, dtype=torch.float32)
    y = torch.tensor(data.target, dtype=torch.float32).unsqueeze(1) / 100.0
    order = torch.from_numpy(np.random.default_rng(seed).permutation(len(x)))
    x, y = x[order], y[order]
    return (x[:320], y[:320]), (x[320:], y[320:])


def augment(x, noise):
    """Small feature noise plus random feature dropout towards the column mean (zero)."""
    keep = (torch.rand_like(x) > 0.05).float()
    return (x + noise * torch.randn_like(x)) * keep


@torch.no_grad()
def evaluate(model, x, y, target_scaler):
    model.eval()
    pred = target_scaler.inverse(model(x))
    err = pred - y
    return {
        "mae": err.abs().mean().item(),
        "rmse": err.pow(2).mean().sqrt().item(),
        "r2": (1 - err.pow(2).sum() / (y - y.mean()).pow(2).sum()).item(),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--noise", type=float, default=0.1)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    (train_x, train_y), (test_x, test_y) = load_table(args.seed)
    scale_x, scale_y = Standardizer(train_x), MinMax(train_y)
    train_set = TensorDataset(scale_x(train_x), scale_y.transform(train_y))
    loader = DataLoader(train_set, batch_size=64, shuffle=True, drop_last=True)

    model = ResidualMLP(train_x.shape[1])
    decay = [p for p in model.parameters() if p.ndim > 1]
    plain = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.05}, {"params": plain, "weight_decay": 0.0}], lr=args.lr
    )
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.steps)
    criterion = nn.SmoothL1Loss(beta=0.1)

    step = 0
    while step < args.steps:
        for x, y in loader:
            if step >= args.steps:
                break
            model.train()
            loss = criterion(model(augment(x, args.noise)), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            step += 1
            if step % 30 == 0:
                scores = evaluate(model, scale_x(test_x), test_y, scale_y)
                print(f"step {step:3d} loss {loss.item():.4f} test mae {scores['mae']:.4f}")

    scores = evaluate(model, scale_x(test_x), test_y, scale_y)
    print("EVIDENCE " + " ".join(f"test_{k}={v:.4f}" for k, v in scores.items()))


if __name__ == "__main__":
    main()
