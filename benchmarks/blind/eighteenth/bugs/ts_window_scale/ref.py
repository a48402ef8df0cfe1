"""Forecast a panel of seasonal series with a small GRU and per-window scaling."""
import argparse
import math

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CONTEXT, HORIZON = 36, 12


def make_panel(n_series, length, rng):
    t = np.arange(length)
    rows = []
    for _ in range(n_series):
        level = rng.uniform(20, 200)
        amp = level * rng.uniform(0.05, 0.25)
        trend = level * rng.uniform(-0.001, 0.002)
        phase = rng.uniform(0, 2 * math.pi)
        noise = rng.normal(0, 0.15 * amp, length)
        rows.append(level + trend * t + amp * np.sin(2 * math.pi * t / 12 + phase) + noise)
    return np.stack(rows).astype(np.float32)


class WindowDataset(Dataset):
    """Windows of every series, scaled by the statistics of the context part."""

    def __init__(self, panel, start, stop, stride=2):
        self.panel = torch.from_numpy(panel)
        self.index = [
            (s, t)
            for s in range(panel.shape[0])
            for t in range(start, stop - CONTEXT - HORIZON + 1, stride)
        ]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        series, t0 = self.index[i]
        window = self.panel[series, t0:t0 + CONTEXT + HORIZON]
        past, future = window[:CONTEXT], window[CONTEXT:]
        loc = past.mean()
        scale = past.std().clamp_min(1e-4)
        past = (past - loc) / scale
        target = (future - loc) / scale
        return {"past": past, "target": target, "raw": future, "loc": loc, "scale": scale}


class Forecaster(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, HORIZON))

    def forward(self, past):
        out, _ = self.rnn(past.unsqueeze(-1))
        return self.head(out[:, -1])


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    err, total = 0.0, 0.0
    for batch in loader:
        pred = model(batch["past"])
        pred = pred * batch["scale"].unsqueeze(-1) + batch["loc"].unsqueeze(-1)
        err += (pred - batch["raw"]).abs().sum().item()
        total += batch["raw"].abs().sum().item()
    return err / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)

    panel = make_panel(60, 180, rng)
    train_set = WindowDataset(panel, 0, 132)
    test_set = WindowDataset(panel, 120, 180)
    train_loader = DataLoader(train_set, batch_size=64, shuffle=True, drop_last=True)
    test_loader = DataLoader(test_set, batch_size=128)

    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.steps)
    criterion = nn.SmoothL1Loss()

    step = 0
    while step < args.steps:
        for batch in train_loader:
            model.train()
            loss = criterion(model(batch["past"]), batch["target"])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            step += 1
            if step % 20 == 0:
                print(f"step {step} loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.2e}")
            if step == args.steps:
                break
    print(f"EVIDENCE test_wape {evaluate(model, test_loader):.4f}")


if __name__ == "__main__":
    main()
