"""A stream of shards that is read in chunks and yields row after row; its state is kept in a checkpoint."""
import argparse
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SHARDS, ROWS, CHUNK = 12, 40, 16


def shard(number):
    """One file: a rare kind of row stands in each shard's later part."""
    rng = np.random.default_rng(100 + number)
    x = rng.normal(size=(ROWS, 8)).astype(np.float32)
    rare = np.arange(ROWS) % CHUNK >= 10
    y = np.where(rare, x[:, 0] * 2 - x[:, 1], x[:, 2] + 0.5 * x[:, 3]).astype(np.float32)
    x[:, 7] = rare
    return [(number * ROWS + k, x[k], y[k]) for k in range(ROWS)]


class ChunkReader:
    """Reads CHUNK rows at once. The state says from where to go on: shard, and rows that have been handed out."""

    def __init__(self, seed):
        self.order = np.random.default_rng(seed).permutation(SHARDS).tolist()
        self.shard_at, self.row_at = 0, 0

    def __iter__(self):
        while self.shard_at < SHARDS:
            rows = shard(self.order[self.shard_at])
            while self.row_at < ROWS:
                chunk = rows[self.row_at:self.row_at + CHUNK]
                for row in chunk:
                    self.row_at += 1
                    yield row
            self.shard_at, self.row_at = self.shard_at + 1, 0

    def state_dict(self):
        return {"shard_at": self.shard_at, "row_at": self.row_at}

    def load_state_dict(self, state):
        self.shard_at, self.row_at = state["shard_at"], state["row_at"]


def batches(reader, size):
    batch = []
    for row in reader:
        batch.append(row)
        if len(batch) == size:
            yield [r[0] for r in batch], torch.tensor(np.stack([r[1] for r in batch])), torch.tensor(np.array([r[2] for r in batch]))
            batch = []


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 48), nn.GELU(), nn.Linear(48, 48), nn.GELU(), nn.Linear(48, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


def train_part(model, optimizer, reader, limit, seen):
    """Until the stream ends or the job is stopped after so many steps."""
    done = 0
    for numbers, x, y in batches(reader, 6):
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += numbers
        done += 1
        if done == limit:
            return True
    return False


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=4, help="steps between two stops of the job")
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    model = Regressor()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    seen, stops, complete = [], 0, 0
    for epoch in range(4):
        reader, running, before = ChunkReader(args.seed + epoch), True, len(seen)
        while running:
            running = train_part(model, optimizer, reader, args.steps, seen)
            if running:
                checkpoint = copy.deepcopy({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                                            "data": reader.state_dict()})
                model, reader, stops = Regressor(), ChunkReader(args.seed + epoch), stops + 1
                optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
                model.load_state_dict(checkpoint["model"])
                optimizer.load_state_dict(checkpoint["optimizer"])
                reader.load_state_dict(checkpoint["data"])
        complete += len(set(seen[before:])) / (SHARDS * ROWS) / 4
        print(f"epoch {epoch} rows {len(seen) - before} stops {stops}")
    rows = [r for k in range(50, 55) for r in shard(k)]
    x, y = torch.tensor(np.stack([r[1] for r in rows])), torch.tensor(np.array([r[2] for r in rows]))
    with torch.no_grad():
        error = (model(x) - y).pow(2)
    rare = x[:, 7] > 0
    print(f"EVIDENCE share_of_rows={complete:.4f} rare_error={error[rare].mean().item():.4f} "
          f"common_error={error[~rare].mean().item():.4f}")


if __name__ == "__main__":
    main()
