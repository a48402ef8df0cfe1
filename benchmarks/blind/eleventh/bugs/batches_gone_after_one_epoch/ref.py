"""House prices from a table: a stream of records is parsed, cut into batches and used for several epochs."""
import argparse
import csv
import io

import numpy as np
import torch
from torch import nn

FEATURES = 8


def table(rng, rows):
    """The table as text, as it would come from a file."""
    weights = np.random.default_rng(77).normal(size=FEATURES)
    x = rng.normal(size=(rows, FEATURES))
    y = x @ weights + 0.5 * np.sin(2 * x[:, 0]) * x[:, 1] + 0.1 * rng.normal(size=rows)
    text = io.StringIO()
    csv.writer(text).writerows(np.column_stack([x, y]).round(5).tolist())
    return text.getvalue()


def parse(text):
    for row in csv.reader(io.StringIO(text)):
        values = torch.tensor([float(v) for v in row])
        yield values[:-1], values[-1]


def batched(records, size):
    """Lists of records become tensors; the rest at the end is a batch, too."""
    chunk = []
    for record in records:
        chunk.append(record)
        if len(chunk) == size:
            yield tuple(torch.stack(part) for part in zip(*chunk))
            chunk = []
    if chunk:
        yield tuple(torch.stack(part) for part in zip(*chunk))


def run_epoch(model, optimizer, batches):
    model.train()
    total = 0.0
    count = 0
    for x, y in batches:
        loss = nn.functional.mse_loss(model(x).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
        count += 1
    return total, count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=600)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(args.seed)
    rows, size = 1280, 32
    train_batches = list(batched(parse(table(rng, rows)), size))
    valid_x, valid_y = next(batched(parse(table(rng, 400)), 400))
    model = nn.Sequential(nn.Linear(FEATURES, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    epochs = max(2, args.steps * size // rows)
    done = 0
    for epoch in range(epochs):
        total, count = run_epoch(model, optimizer, train_batches)
        done += count
        model.eval()
        with torch.no_grad():
            error = nn.functional.mse_loss(model(valid_x).squeeze(1), valid_y).item()
        print(f"epoch {epoch + 1}/{epochs}: train {total / rows:.4f}, valid {error:.4f}")
    print(f"EVIDENCE {done} steps in {epochs} epochs, validation error {error:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
