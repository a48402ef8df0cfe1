# Hourly load forecasting: consumption history (float windows) plus a weather block that a reader
# fills from a memory map.  One batch is always read ahead of the one being trained on.
import argparse
import os
import tempfile

import numpy as np
import torch
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("--seed", type=int, default=0)
p.add_argument("--lr", type=float, default=3e-3)
p.add_argument("--steps", type=int, default=800)
p.add_argument("--batch", type=int, default=64)
cfg = p.parse_args()
torch.set_num_threads(1)
torch.manual_seed(cfg.seed)

HOURS, HISTORY, AHEAD, CHANNELS = 9000, 36, 6, 5


def write_station(path, rng):
    """Five weather channels, slow and correlated, stored as float32 on disk."""
    kick = rng.normal(size=(HOURS, CHANNELS)).astype(np.float32)
    weather = np.zeros_like(kick)
    for t in range(1, HOURS):
        weather[t] = 0.93 * weather[t - 1] + 0.37 * kick[t]
    store = np.memmap(path, dtype=np.float32, mode="w+", shape=weather.shape)
    store[:] = weather
    store.flush()
    return weather


def consumption(weather, rng):
    hour = np.arange(HOURS)
    daily = np.sin(2 * np.pi * hour / 24) + 0.4 * np.sin(4 * np.pi * hour / 24 + 1.0)
    heating = np.maximum(0.0, 0.3 - weather[:, 0]) * 0.9
    light = 0.5 * np.tanh(weather[:, 1] - 0.5 * weather[:, 2])
    return (daily + heating + light + 0.08 * rng.normal(size=HOURS)).astype(np.float32)


class StationReader:
    """Reads the forecast window of weather for many start hours into one preallocated block."""

    def __init__(self, path, batch):
        self.map = np.memmap(path, dtype=np.float32, mode="r", shape=(HOURS, CHANNELS))
        self.block = np.empty((batch, AHEAD, CHANNELS), dtype=np.float32)

    def read(self, starts):
        for row, start in enumerate(starts):
            self.block[row] = self.map[start : start + AHEAD]
        return torch.from_numpy(self.block[: len(starts)].copy())


class Batches:
    def __init__(self, load, reader, first, last, batch, rng):
        self.load, self.reader = load, reader
        self.starts = np.arange(first + HISTORY, last - AHEAD)
        self.batch, self.rng = batch, rng

    def _make(self, starts):
        history = np.stack([self.load[s - HISTORY : s] for s in starts])
        future = np.stack([self.load[s : s + AHEAD] for s in starts])
        return torch.from_numpy(history), self.reader.read(starts), torch.from_numpy(future)

    def __iter__(self):
        order = self.rng.permutation(self.starts)
        for k in range(0, len(order) - self.batch + 1, self.batch):
            yield self._make(order[k : k + self.batch])


def read_ahead(batches):
    """Keeps the next batch ready, so that the disk works while the network does."""
    it = iter(batches)
    ready = next(it)
    for upcoming in it:
        yield ready
        ready = upcoming
    yield ready


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.past = nn.GRU(1, 24, batch_first=True)
        self.weather = nn.Sequential(nn.Linear(CHANNELS, 32), nn.GELU(), nn.Linear(32, 24))
        self.head = nn.Sequential(nn.Linear(48 + AHEAD, 48), nn.GELU(), nn.Linear(48, 1))
        self.register_buffer("lead", torch.eye(AHEAD))

    def forward(self, history, weather):
        _, h = self.past(history.unsqueeze(-1))
        h = h[-1].unsqueeze(1).expand(-1, AHEAD, -1)
        lead = self.lead.expand(len(history), -1, -1)
        return self.head(torch.cat([h, self.weather(weather), lead], -1)).squeeze(-1)


def train(model, batches):
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(opt, cfg.steps)
    step, smooth = 0, None
    while step < cfg.steps:
        for history, weather, future in read_ahead(batches):
            loss = nn.functional.l1_loss(model(history, weather), future)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            schedule.step()
            smooth = loss.item() if smooth is None else 0.97 * smooth + 0.03 * loss.item()
            step += 1
            if step % 200 == 0:
                print(f"{step:5d}  mean absolute error {smooth:.4f}")
            if step == cfg.steps:
                break
    return smooth


@torch.no_grad()
def evaluate(model, batches):
    errors = [(model(h, w) - f).abs().mean().item() for h, w, f in batches]
    return float(np.mean(errors))


with tempfile.TemporaryDirectory() as folder:
    rng = np.random.default_rng(cfg.seed)
    path = os.path.join(folder, "station.f32")
    weather = write_station(path, rng)
    load = consumption(weather, rng)
    reader = StationReader(path, cfg.batch)
    model = Forecaster()
    last = train(model, Batches(load, reader, 0, 7500, cfg.batch, rng))
    test = evaluate(model, Batches(load, reader, 7500, HOURS, cfg.batch, rng))
print(f"EVIDENCE training error {last:.4f} test error {test:.4f}")
