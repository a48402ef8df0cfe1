"""Hourly load forecasting with calendar phases, trained under bfloat16 autocast."""
import argparse
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

START_HOUR = 455_000   # hours since 1970-01-01, about the end of 2021


def make_series(seed, n_hours=6000):
    """Daily and weekly cycles, a slow trend and autocorrelated noise."""
    rng = np.random.default_rng(seed)
    hour = START_HOUR + np.arange(n_hours)
    daily = 1.5 * np.sin(2 * np.pi * hour / 24 + 0.7) + 0.6 * np.sin(4 * np.pi * hour / 24)
    weekly = 0.8 * np.cos(2 * np.pi * hour / 168)
    noise = np.zeros(n_hours)
    for t in range(1, n_hours):
        noise[t] = 0.8 * noise[t - 1] + 0.15 * rng.normal()
    load = 5 + daily + weekly + noise + 0.3 * np.arange(n_hours) / n_hours
    return torch.tensor(hour, dtype=torch.float64), torch.tensor(load, dtype=torch.float32)


class Windows:
    """Context of a few hours, forecast of the next two days."""

    def __init__(self, hour, load, context, horizon, stats):
        self.hour, self.load = hour, (load - stats[0]) / stats[1]
        self.context, self.horizon = context, horizon
        self.n = len(load) - context - horizon + 1

    def get(self, start):
        ctx = start[:, None] + torch.arange(self.context)
        fut = start[:, None] + self.context + torch.arange(self.horizon)
        return self.load[ctx], self.hour[fut].float(), self.load[fut]


class CalendarPhase(nn.Module):
    """sin and cos of the absolute hour at a few fixed periods."""

    def __init__(self, periods=(24.0, 12.0, 168.0)):
        super().__init__()
        self.register_buffer("freq", 2 * math.pi / torch.tensor(periods)[None, :])

    def forward(self, hour):
        with torch.autocast("cpu", enabled=False):
            angle = hour.float().unsqueeze(-1) @ self.freq
        return torch.cat([angle.sin(), angle.cos()], dim=-1)


class Forecaster(nn.Module):
    def __init__(self, context, horizon, hidden=96):
        super().__init__()
        self.phase = CalendarPhase()
        self.encode = nn.Sequential(nn.Linear(context, hidden), nn.GELU(), nn.Linear(hidden, hidden))
        self.step = nn.Embedding(horizon, hidden)
        self.calendar = nn.Linear(6, hidden)
        self.decode = nn.Sequential(nn.GELU(), nn.Linear(hidden, hidden), nn.GELU(), nn.Linear(hidden, 1))

    def forward(self, ctx, hour):
        h = self.encode(ctx)[:, None] + self.step.weight + self.calendar(self.phase(hour))
        return self.decode(h).squeeze(-1)


@torch.no_grad()
def evaluate(model, windows):
    model.eval()
    err, scale = 0.0, 0.0
    for start in torch.arange(windows.n).split(256):
        ctx, hour, target = windows.get(start)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            pred = model(ctx, hour)
        err += (pred.float() - target).pow(2).mean(1).sum().item()
        scale += len(start)
    model.train()
    return err / scale


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=100)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    context, horizon = 6, 48
    hour, load = make_series(args.seed)
    cut = int(0.8 * len(load))
    stats = (load[:cut].mean(), load[:cut].std())
    train = Windows(hour[:cut], load[:cut], context, horizon, stats)
    test = Windows(hour[cut:], load[cut:], context, horizon, stats)

    model = Forecaster(context, horizon)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=args.steps)
    for step in range(1, args.steps + 1):
        ctx, hours, target = train.get(torch.randint(train.n, (48,)))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            pred = model(ctx, hours)
        loss = F.mse_loss(pred.float(), target)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        if step % 20 == 0:
            print(f"step {step:4d} loss {loss.item():.4f}")
    print(f"EVIDENCE test_mse={evaluate(model, test):.4f} horizon={horizon}")


if __name__ == "__main__":
    main()
