"""The load of a machine within an hour is learned from the time of its measurements, which are Unix seconds."""

import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=160)
args = parser.parse_args()
HOUR = 3600
FIRST = 1_760_000_400


def features(times):
    """Sines and cosines of the time within five and fifteen minutes."""
    times = np.asarray(times, dtype=np.float64)
    seconds = (times - FIRST) % HOUR
    columns = []
    for period in (100, 300):
        angle = 2 * np.pi * seconds / period
        columns += [np.sin(angle), np.cos(angle)]
    return torch.from_numpy(np.stack(columns, axis=1)).float()


def measure(rng, count):
    times = FIRST + rng.integers(0, 30 * 24 * HOUR, count)
    phase = (times - FIRST) % HOUR
    load = np.sin(2 * np.pi * phase / 100) + 0.5 * np.cos(2 * np.pi * phase / 300) + 0.1 * rng.standard_normal(count)
    return times, torch.from_numpy(load).float()


def build():
    return nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1), nn.Flatten(0))


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(args.seed)
    train_times, train_load = measure(rng, 1600)
    valid_times, valid_load = measure(rng, 400)
    loader = DataLoader(TensorDataset(features(train_times), train_load), batch_size=40, shuffle=True)
    valid = features(valid_times)
    model = build()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.steps // len(loader)):
        total = 0.0
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        with torch.no_grad():
            error = nn.functional.mse_loss(model(valid), valid_load).item()
        print(f"epoch {epoch}: loss {total / len(train_load):.4f}, validation {error:.4f}")
    print(f"EVIDENCE validation {error:.4f}, {len(torch.unique(valid[:, 0]))} different values of the first feature")


main()

# SPDX-License-Identifier: Apache-2.0
