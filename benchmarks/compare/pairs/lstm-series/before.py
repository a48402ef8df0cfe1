"""Forecasting of noisy seasonal series with an LSTM and light augmentation of the windows."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

WINDOW, HORIZON = 48, 12


def make_series(n_series, length, seed):
    rng = np.random.default_rng(seed + 31)
    t = np.arange(length)
    period = rng.choice([12, 24], size=(n_series, 1))
    phase = rng.uniform(0, 2 * np.pi, (n_series, 1))
    trend = rng.normal(0, 0.003, (n_series, 1)) * t
    noise = rng.normal(0, 0.1, (n_series, length))
    return (np.sin(2 * np.pi * t / period + phase) + trend + noise).astype(np.float32)


class Forecaster(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, num_layers=2, batch_first=True, dropout=0.1)
        self.head = nn.Linear(hidden, HORIZON)

    def forward(self, x):
        level = x.mean(1, keepdim=True)
        h, _ = self.lstm((x - level)[..., None])
        return self.head(h[:, -1]) + level


def sample_batch(series, rng, batch_size):
    inputs, targets = [], []
    for _ in range(batch_size):
        row = rng.integers(len(series))
        start = rng.integers(series.shape[1] - WINDOW - HORIZON)
        scale = rng.uniform(0.8, 1.2)
        jitter = rng.normal(0, 0.02, WINDOW)
        piece = series[row, start:start + WINDOW + HORIZON] * scale
        inputs.append(piece[:WINDOW] + jitter)
        targets.append(piece[WINDOW:])
    x = torch.tensor(np.array(inputs), dtype=torch.float32)
    y = torch.tensor(np.array(targets), dtype=torch.float32)
    return x, y


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(args.seed)

    series = make_series(60, 400, args.seed)
    model = Forecaster()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    sched = torch.optim.lr_scheduler.StepLR(opt, 40, gamma=0.5)
    for step in range(args.steps):
        x, y = sample_batch(series, rng, 32)
        loss = F.huber_loss(model(x), y, delta=0.5)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.5)
        opt.step()
        sched.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():.6f} lr {sched.get_last_lr()[0]:.5f}")


if __name__ == "__main__":
    main()
