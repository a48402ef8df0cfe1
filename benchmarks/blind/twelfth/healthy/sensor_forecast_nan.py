"""Forecasts of sensors with gaps: bad windows are dropped, missing targets masked, quantile loss, TCN."""
import argparse
import math

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, default_collate

QUANTILES = torch.tensor([0.1, 0.5, 0.9])


def simulate(n_sensors, length, rng):
    t = np.arange(length)
    series = []
    for _ in range(n_sensors):
        s = rng.uniform(0.5, 1.5) * np.sin(2 * math.pi * t / 24 + rng.uniform(0, 6))
        s = s + 0.4 * np.sin(2 * math.pi * t / rng.uniform(60, 120)) + 0.15 * rng.standard_normal(length)
        for _ in range(rng.integers(3, 10)):                 # outages
            at = rng.integers(length)
            s[at:at + rng.integers(3, 25)] = np.nan
        s[rng.random(length) < 0.01] = np.nan
        series.append(s)
    return np.stack(series).astype(np.float32)


class Windows(Dataset):
    def __init__(self, data, history=48, horizon=6, stride=7):
        self.data, self.history, self.horizon = data, history, horizon
        self.index = [(i, s) for i in range(len(data)) for s in range(0, data.shape[1] - history - horizon, stride)]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, k):
        i, s = self.index[k]
        past = self.data[i, s:s + self.history]
        future = self.data[i, s + self.history:s + self.history + self.horizon]
        if np.isnan(past).mean() > 0.3 or np.isnan(future).all():
            return None
        seen = ~np.isnan(past)
        mean, std = past[seen].mean(), past[seen].std() + 1e-3
        past = np.where(seen, (past - mean) / std, 0.0).astype(np.float32)
        return np.stack([past, seen.astype(np.float32)]), (future - mean) / std


def drop_missing(items):
    items = [i for i in items if i is not None]
    return default_collate(items) if items else None


class TCN(nn.Module):
    def __init__(self, horizon, ch=24):
        super().__init__()
        self.inp = nn.Conv1d(2, ch, 1)
        self.convs = nn.ModuleList(nn.Conv1d(ch, ch, 3, dilation=d) for d in (1, 2, 4, 8))
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(ch, horizon * len(QUANTILES))

    def forward(self, x):
        h = self.inp(x)
        for conv in self.convs:
            pad = conv.dilation[0] * 2
            h = h + self.drop(torch.relu(conv(nn.functional.pad(h, (pad, 0)))))
        return self.head(h[:, :, -1]).unflatten(1, (-1, len(QUANTILES)))


def pinball(pred, target):
    known = ~target.isnan()
    diff = target[known][:, None] - pred[known]
    return torch.maximum(QUANTILES * diff, (QUANTILES - 1) * diff).mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=6, help="epochs")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    data = simulate(8, 900, np.random.default_rng(args.seed))
    train = DataLoader(Windows(data[:, :700]), batch_size=32, shuffle=True, collate_fn=drop_missing)
    valid = DataLoader(Windows(data[:, 700:]), batch_size=128, collate_fn=drop_missing)
    model = TCN(horizon=6)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=0, threshold=0.01)
    for epoch in range(1, args.steps + 1):
        model.train()
        losses, used = [], 0
        for batch in train:
            if batch is None:
                continue
            x, y = batch
            loss = pinball(model(x), y)
            if not torch.isfinite(loss):
                print("skipping a batch without a finite loss")
                continue
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            losses.append(loss.item())
            used += len(x)
        model.eval()
        with torch.no_grad():
            pairs = [(model(b[0]), b[1]) for b in valid if b is not None]
        pred, true = torch.cat([a for a, _ in pairs]), torch.cat([b for _, b in pairs])
        val, known = pinball(pred, true).item(), ~true.isnan()
        inside = ((true >= pred[..., 0]) & (true <= pred[..., 2]))[known].float().mean().item()
        sched.step(val)
        print(f"epoch {epoch}: {used}/{len(train.dataset)} windows, train {np.mean(losses):.4f}, valid {val:.4f}, "
              f"in the band {inside:.2f}, lr {opt.param_groups[0]['lr']:.4f}")


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
