"""Forecasting of a noisy series: an LSTM reads a window of values and predicts the next one."""

import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
WINDOW = 24


class Windows(Dataset):
    def __init__(self, series, length):
        self.series = np.asarray(series, dtype=np.float32)
        self.length = length

    def __len__(self):
        return len(self.series) - self.length - 1

    def __getitem__(self, index):
        end = index + self.length
        window = self.series[index:end]
        target = self.series[end]
        return torch.from_numpy(window)[:, None], torch.tensor(target)


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        output, _ = self.lstm(x)
        return self.head(output[:, -1]).squeeze(1)


def make_series(length, rng):
    t = np.arange(length)
    return np.sin(t / 3.0) + 0.5 * np.sin(t / 7.0 + 1) + 0.3 * rng.standard_normal(length)


def forecast_error(model, series):
    """Errors of forecasts one step ahead, made without a loader."""
    model.eval()
    windows = torch.tensor(np.lib.stride_tricks.sliding_window_view(series, WINDOW)[:-1].copy(), dtype=torch.float32)
    with torch.no_grad():
        guess = model(windows[:, :, None])
    model.train()
    return nn.functional.mse_loss(guess, torch.tensor(series[WINDOW:], dtype=torch.float32)).item()


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(args.seed)
    series = make_series(1500, rng)
    train, test = series[:1200], series[1200:]
    loader = DataLoader(Windows(train, WINDOW), batch_size=32, shuffle=True)
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    step, done = 0, False
    while not done:
        for window, target in loader:
            loss = nn.functional.mse_loss(model(window), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 20 == 0:
                print(f"step {step}: loss {loss.item():.4f}")
            if step >= args.steps:
                done = True
                break
    print(f"EVIDENCE last loss {loss.item():.4f}, error of real forecasts {forecast_error(model, test):.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
