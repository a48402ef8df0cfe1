"""Daily returns of twelve tickers: windows of the past predict the next days; the last fifth of time is held out."""
import argparse

import numpy as np
import torch
import torch.nn as nn

LOOKBACK, HORIZON = 20, 3


def returns_frame(days=420, tickers=12):
    """The volatility regime changes near the end of the frame."""
    rng = np.random.default_rng(42)
    vol = np.where(np.arange(days) < int(0.82 * days), 1.0, 4.0)[:, None]
    drift = np.where(np.arange(days) < int(0.82 * days), 0.05, -0.6)[:, None]
    noise = rng.standard_normal((days, tickers))
    out = np.zeros((days, tickers))
    for t in range(1, days):
        out[t] = 0.5 * out[t - 1] + vol[t] * noise[t] + drift[t]
    return out.astype(np.float32)


class StandardScaler:
    def fit(self, rows):
        self.mean, self.std = rows.mean(0), rows.std(0)
        return self

    def transform(self, rows):
        return (rows - self.mean) / self.std


def training_cutoff(frame, fraction):
    return int(len(frame) * fraction)


def windows(frame, start, stop):
    xs, ys = [], []
    for t in range(start + LOOKBACK, stop - HORIZON + 1):
        xs.append(frame[t - LOOKBACK:t].T)
        ys.append(frame[t:t + HORIZON].T)
    return torch.from_numpy(np.concatenate(xs)), torch.from_numpy(np.concatenate(ys))


class ResidualEncoder(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.inp = nn.Linear(LOOKBACK, width)
        self.block = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, width))
        self.out = nn.Linear(width, HORIZON)
        self.skip = nn.Linear(LOOKBACK, HORIZON)

    def forward(self, x):
        h = self.inp(x)
        return self.out(h + self.block(h)) + self.skip(x)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=200)
    ap.add_argument("--training-fraction", type=float, default=0.8)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    frame = returns_frame()
    cutoff = training_cutoff(frame, args.training_fraction)
    scaler = StandardScaler().fit(frame[:cutoff])
    scaled = scaler.transform(frame)
    x_train, y_train = windows(scaled, 0, cutoff)
    x_val, y_val = windows(scaled, cutoff, len(frame))
    model = ResidualEncoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    gen = torch.Generator().manual_seed(args.seed)
    for step in range(args.steps):
        pick = torch.randint(0, len(x_train), (64,), generator=gen)
        loss = nn.functional.mse_loss(model(x_train[pick]), y_train[pick])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % 50 == 0:
            print(f"step {step + 1} mse {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        val = nn.functional.l1_loss(model(x_val), y_val).item()
    print(f"EVIDENCE val_mae_scaled={val:.3f} train_std_after_scaling={scaled[:cutoff].std():.3f}")


if __name__ == "__main__":
    main()
