"""One-step-ahead forecast with a GRU on noisy seasonal series."""
import argparse
import random

import torch
from torch import nn

CONTEXT = 32


def build_series(n_series, length, gen):
    t = torch.arange(length, dtype=torch.float32)
    period = torch.randint(8, 30, (n_series, 1), generator=gen).float()
    phase = torch.rand(n_series, 1, generator=gen) * 6.283
    slope = torch.randn(n_series, 1, generator=gen) * 0.002
    noise = torch.randn(n_series, length, generator=gen) * 0.1
    return torch.sin(6.283 * t / period + phase) + slope * t + noise


class WindowSampler:
    """Random windows out of the training part of the series."""

    def __init__(self, series, batch_size):
        self.series = series
        self.batch_size = batch_size

    def next(self):
        n, length = self.series.shape
        windows = []
        for _ in range(self.batch_size):
            row = random.randrange(n)
            start = random.randrange(length - CONTEXT)
            windows.append(self.series[row, start:start + CONTEXT + 1])
        batch = torch.stack(windows)
        return batch[:, :-1], batch[:, 1:]


class Forecaster(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        h, _ = self.rnn(x.unsqueeze(-1))
        return self.head(h).squeeze(-1)


def evaluate(model, series):
    model.eval()
    with torch.no_grad():
        pred = model(series[:, :-1])
        err = (pred - series[:, 1:])[:, 8:].abs().mean().item()
        naive = (series[:, 1:] - series[:, :-1])[:, 8:].abs().mean().item()
    model.train()
    return err, naive


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--lr", type=float, default=1e-2)
    p.add_argument("--steps", type=int, default=50)
    return p.parse_args()


def main():
    args = parse()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    series = build_series(60, 300, gen)
    train, test = series[:, :240], series[:, 240:]
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    sampler = WindowSampler(train, 64)

    running = None
    for step in range(1, args.steps + 1):
        x, y = sampler.next()
        loss = nn.functional.huber_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running = loss.item() if running is None else 0.9 * running + 0.1 * loss.item()
        if step % 10 == 0:
            print(f"[{step}] loss={loss.item():.6f} smooth={running:.6f}")

    err, naive = evaluate(model, test)
    print(f"EVIDENCE mae={err:.4f} naive={naive:.4f}")


if __name__ == "__main__":
    main()
