"""Forecast the load of many buildings: each window is scaled by its own past, the answer is scaled back."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

PAST, AHEAD = 36, 6


def buildings(count, seed):
    """Levels differ a thousandfold; some meters stand still for days and start again when people come back."""
    gen = torch.Generator().manual_seed(seed)
    t = torch.arange(240, dtype=torch.float32)
    out = []
    for k in range(count):
        level = 10 ** (3 * torch.rand((), generator=gen))
        phase = 6.28 * torch.rand((), generator=gen)
        load = level * (2 + torch.sin(t * 6.283 / 12 + phase) + 0.1 * torch.randn(240, generator=gen))
        if k % 4 == 0:
            load = torch.zeros(240)
            load[torch.arange(240) % 42 >= 36] = 1.0
        out.append(load)
    return torch.stack(out)


class SeriesScaler:
    """Mean and deviation of the past; a meter that stands still is not scaled."""

    def fit(self, past):
        self.mean = past.mean(-1, keepdim=True)
        deviation = past.std(-1, keepdim=True)
        self.scale = torch.where(deviation < 1e-6, torch.ones_like(deviation), deviation)
        self.deviation = deviation
        return self

    def transform(self, x):
        return (x - self.mean) / self.scale

    def inverse(self, x):
        return x * self.scale + self.mean


class Windows(Dataset):
    def __init__(self, series):
        self.rows = series.unfold(1, PAST + AHEAD, 6).flatten(0, 1)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        past, future = self.rows[i, :PAST], self.rows[i, PAST:]
        scaler = SeriesScaler().fit(past)
        return scaler.transform(past), scaler.transform(future), past, future


class Mixer(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.inp, self.mid, self.out = nn.Linear(PAST, width), nn.Linear(width, width), nn.Linear(width, AHEAD)

    def forward(self, x):
        h = F.gelu(self.inp(x))
        return self.out(h + F.gelu(self.mid(h)))


@torch.no_grad()
def evaluate(model, series):
    """Error in the units of the meter, over its level; meters that stand still apart."""
    _, _, past, future = (torch.stack(x) for x in zip(*[Windows(series)[i] for i in range(len(Windows(series)))]))
    scaler = SeriesScaler().fit(past)
    guess = scaler.inverse(model(scaler.transform(past)))
    error = (guess - future).abs().mean(1)
    quiet = scaler.deviation.squeeze(1) < 1e-6
    return (error / past.mean(1).clamp(min=1e-3))[~quiet].mean().item(), error[quiet].mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=200)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    data = Windows(buildings(24, args.seed))
    loader = DataLoader(data, batch_size=32, shuffle=True, drop_last=True)
    model = Mixer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    step = 0
    while step < args.steps:
        for x, y, _, _ in loader:
            loss = F.smooth_l1_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            step += 1
            if step >= args.steps:
                break
        if step % 50 < len(loader):
            print(f"step {step} loss {loss.item():.4f}")
    busy, quiet = evaluate(model, buildings(16, 900))
    print(f"EVIDENCE loss={loss.item():.4f} busy_error={busy:.4f} quiet_error={quiet:.4f}")


if __name__ == "__main__":
    main()
