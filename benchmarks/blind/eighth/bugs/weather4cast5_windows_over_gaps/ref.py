"""Forecasts of an hourly series of which whole stretches are missing."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class HourlySeries(Dataset):
    """Pairs of `context` hours and the hour after them; records are stored one after the other, with their times."""

    def __init__(self, times, values, context=12):
        self.times, self.values, self.context = times, values, context
        self.idxs = self.get_training_idxs()

    def get_training_idxs(self):
        last = len(self.times) - self.context
        return [i for i in range(last) if self.times[i + self.context] - self.times[i] == self.context]

    def __len__(self):
        return len(self.idxs)

    def __getitem__(self, item):
        i = self.idxs[item]
        return self.values[i:i + self.context], self.values[i + self.context]


def make_series(hours, gaps):
    t = torch.arange(hours).float()
    values = torch.sin(2 * torch.pi * t / 24 + 6.28 * torch.rand(())) + 0.5 * torch.sin(2 * torch.pi * t / 7) + \
        0.05 * torch.randn(hours)
    kept = torch.ones(hours, dtype=torch.bool)
    if gaps:
        for start in range(0, hours, 40):
            length = int(torch.randint(6, 18, ()))
            begin = start + int(torch.randint(0, 40 - length, ()))
            kept[begin:begin + length] = False
    return t[kept].long(), values[kept]


class Forecaster(nn.Module):
    def __init__(self, context=12):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(context, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


def validate(model, loader):
    model.eval()
    with torch.no_grad():
        errors = [(model(x) - y).abs() for x, y in loader]
    model.train()
    return torch.cat(errors).mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=350)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    times, values = make_series(3000, gaps=True)
    train = HourlySeries(times, values)
    valid = HourlySeries(*make_series(600, gaps=False))
    train_loader = DataLoader(train, batch_size=48, shuffle=True, drop_last=True)
    valid_loader = DataLoader(valid, batch_size=200)
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    step, losses = 0, []
    while step < args.steps:
        for x, y in train_loader:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            step += 1
            if step >= args.steps:
                break
        print(f"step {step}: loss {sum(losses[-20:]) / 20:.4f}, validation {validate(model, valid_loader):.4f}")
    torn = sum(int(times[i + 12] - times[i] != 12) for i in train.idxs)
    print(f"EVIDENCE {torn} of {len(train)} windows run over a gap; last losses {sum(losses[-20:]) / 20:.4f}, "
          f"validation {validate(model, valid_loader):.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
