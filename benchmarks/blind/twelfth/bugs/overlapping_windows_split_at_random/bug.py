"""The mean of the next values of a wandering series is forecast; the best weights by validation are kept."""
import argparse
import copy

import torch
import torch.nn.functional as F
from torch import nn

PAST, AHEAD = 20, 20


def make_series(length, generator):
    moves = torch.randn(length, generator=generator)
    level = torch.zeros(length)
    for i in range(1, length):
        level[i] = 0.97 * level[i - 1] + moves[i]
    return level / 4


def make_windows(series):
    starts = range(len(series) - PAST - AHEAD)
    x = torch.stack([series[i:i + PAST] for i in starts])
    y = torch.stack([series[i + PAST:i + PAST + AHEAD].mean() for i in starts])
    return x, y - x[:, -1]


def split_windows(count, generator):
    order = torch.randperm(count, generator=generator)
    cut = int(count * 0.75)
    return order[:cut - AHEAD], order[cut:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=1500)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    series = make_series(2000, generator)
    x, y = make_windows(series[:1400])
    later_x, later_y = make_windows(series[1400:])
    train_rows, valid_rows = split_windows(len(x), generator)
    model = nn.Sequential(nn.Linear(PAST, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    best, weights = float("inf"), None
    for step in range(args.steps):
        rows = train_rows[torch.randint(0, len(train_rows), (64,), generator=generator)]
        loss = F.mse_loss(model(x[rows]).squeeze(1), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 24:
            with torch.no_grad():
                valid_error = F.mse_loss(model(x[valid_rows]).squeeze(1), y[valid_rows]).item()
            if valid_error < best:
                best, best_step, weights = valid_error, step + 1, copy.deepcopy(model.state_dict())
        if step % 300 == 299:
            print(f"step {step + 1}: loss {loss.item():.4f}, validation {valid_error:.4f}")
    model.load_state_dict(weights)
    with torch.no_grad():
        later = F.mse_loss(model(later_x).squeeze(1), later_y).item()
    print(f"EVIDENCE best validation {best:.4f} at step {best_step}, later values {later:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
