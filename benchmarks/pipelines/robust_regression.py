"""One regression on a table by three robust losses in turn (absolute, Huber, smooth), each with a model and an optimizer of its own."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_diabetes
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from options import options

LOSSES = {"absolute": F.l1_loss, "huber": lambda p, y: F.huber_loss(p, y, delta=0.5), "smooth": F.smooth_l1_loss}


def model_of(width):
    return nn.Sequential(nn.Linear(10, width), nn.GroupNorm(4, width), nn.SiLU(), nn.Linear(width, 1))


def main():
    args = options(lr=6e-3, width=24, steps=60)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    data = load_diabetes()
    x, y = torch.tensor(data.data, dtype=torch.float32) * 20, torch.tensor(data.target, dtype=torch.float32)[:, None] / 100
    y[::17] += 4  # outliers
    loader = DataLoader(TensorDataset(x[:320], y[:320]), batch_size=32, shuffle=True)
    for name, criterion in LOSSES.items():
        model = model_of(args.width)
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
        for _ in range(max(1, args.steps // len(loader))):
            model.train()
            for rows, wanted in loader:
                loss = criterion(model(rows), wanted)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        model.eval()
        with torch.no_grad():
            print(f"{name}: {(model(x[320:]) - y[320:]).abs().median().item():.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
