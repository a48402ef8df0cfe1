"""Daily demand forecast: windows with gaps dropped, dilated convolutions, quantile loss, early stopping."""

import argparse
import copy

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=4e-3)
parser.add_argument("--steps", type=int, default=10, help="most epochs")
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
rng = np.random.default_rng(args.seed)

HISTORY, HORIZON, STORES, DAYS = 56, 7, 8, 500
QUANTILES = (0.1, 0.5, 0.9)


def make_sales():
    """Weekly and yearly season, a trend, promotions; some days were never recorded."""
    day = np.arange(DAYS)
    rows = []
    for _ in range(STORES):
        week = rng.normal(0, 1, 7)[day % 7]
        year = np.sin(2 * np.pi * day / 365 + rng.uniform(0, 6)) * rng.uniform(1, 2)
        promo = (rng.random(DAYS) < 0.08).astype(float)
        sales = 20 + rng.normal(0, 5) + rng.normal(0, 0.004) * day + 2 * week + 2 * year + 5 * promo
        sales = sales + rng.normal(0, 0.8, DAYS)
        sales[rng.random(DAYS) < 0.004] = np.nan
        rows.append(np.stack([sales, promo]))
    return rows


class Windows(Dataset):
    def __init__(self, series, first, last):
        self.items = []
        for sales, promo in series:
            for start in range(first, last - HISTORY - HORIZON, 2):
                stop = start + HISTORY + HORIZON
                if np.isnan(sales[start:stop]).any():
                    continue
                self.items.append((sales[start:stop], promo[start:stop], start % 7))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        sales, promo, weekday = self.items[i]
        past = sales[:HISTORY]
        mean, std = past.mean(), past.std() + 1e-3
        days = np.eye(7)[(weekday + np.arange(HISTORY)) % 7].T
        x = np.concatenate([[(past - mean) / std], [promo[:HISTORY]], days])
        y = (sales[HISTORY:] - mean) / std
        return torch.tensor(x).float(), torch.tensor(promo[HISTORY:]).float(), torch.tensor(y).float()


class CausalBlock(nn.Module):
    def __init__(self, channels, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.conv = nn.utils.parametrizations.weight_norm(nn.Conv1d(channels, channels, 3, dilation=dilation))
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        out = self.conv(nn.functional.pad(x, (self.pad, 0)))
        return x + self.drop(torch.relu(out))


class TCN(nn.Module):
    def __init__(self, channels=24):
        super().__init__()
        self.inp = nn.Conv1d(9, channels, 1)
        self.blocks = nn.Sequential(*[CausalBlock(channels, 2**i) for i in range(4)])
        self.out = nn.Linear(channels + HORIZON, HORIZON * len(QUANTILES))

    def forward(self, x, promo):
        h = self.blocks(self.inp(x))[..., -1]
        return self.out(torch.cat([h, promo], 1)).view(-1, HORIZON, len(QUANTILES))


def pinball(pred, target):
    error = target.unsqueeze(-1) - pred
    q = torch.tensor(QUANTILES)
    return torch.maximum(q * error, (q - 1) * error).mean()


series = make_sales()
train = DataLoader(Windows(series, 0, 380), batch_size=64, shuffle=True)
val = DataLoader(Windows(series, 380, DAYS), batch_size=256)
model = TCN()
opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=1)
best, best_state, waited = float("inf"), None, 0
for epoch in range(args.steps):
    model.train()
    for x, promo, y in train:
        loss = pinball(model(x, promo), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    total = count = inside = 0
    with torch.no_grad():
        for x, promo, y in val:
            pred = model(x, promo)
            total += pinball(pred, y).item() * len(y)
            inside += ((y >= pred[..., 0]) & (y <= pred[..., 2])).float().mean().item() * len(y)
            count += len(y)
    score = total / count
    sched.step(score)
    if score < best - 1e-4:
        best, best_state, waited, cover = score, copy.deepcopy(model.state_dict()), 0, inside / count
    else:
        waited += 1
        if waited == 2:
            break
model.load_state_dict(best_state)
print(f"epochs {epoch + 1}, best pinball {best:.4f}, coverage {cover:.2f}")
