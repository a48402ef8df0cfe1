"""Click prediction from sharded logs streamed by an IterableDataset, one pass."""
import argparse

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.metrics import roc_auc_score
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

N_USERS, N_ITEMS, DIM = 400, 300, 6


class LogGenerator:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.u = self.rng.normal(0, 1, (N_USERS, DIM))
        self.v = self.rng.normal(0, 1, (N_ITEMS, DIM))

    def draw(self, n):
        users = self.rng.integers(0, N_USERS, n)
        items = self.rng.integers(0, N_ITEMS, n)
        logits = (self.u[users] * self.v[items]).sum(1) * 1.5
        clicks = self.rng.random(n) < 1 / (1 + np.exp(-logits))
        return np.stack([users, items, clicks], axis=1)


class ShardedLogs(IterableDataset):
    """Reads shard after shard; rows are mixed in a small shuffle buffer."""

    def __init__(self, shards, seed, buffer_size=512):
        super().__init__()
        self.shards = shards
        self.seed = seed
        self.buffer_size = buffer_size

    def _rows(self, shard_ids):
        for sid in shard_ids:
            yield from self.shards[sid]

    def __iter__(self):
        info = get_worker_info()
        shard_ids = list(range(len(self.shards)))
        worker_id = 0
        if info is not None:
            worker_id = info.id
            shard_ids = shard_ids[info.id::info.num_workers]
        rng = np.random.default_rng([self.seed, worker_id])
        buffer = []
        for row in self._rows(shard_ids):
            if len(buffer) < self.buffer_size:
                buffer.append(row)
                continue
            j = int(rng.integers(0, self.buffer_size))
            buffer[j], row = row, buffer[j]
            yield row
        rng.shuffle(buffer)
        yield from buffer


def collate(rows):
    table = torch.from_numpy(np.stack(rows)).long()
    return table[:, 0], table[:, 1], table[:, 2].float()


class ClickModel(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.user = nn.Embedding(N_USERS, dim)
        self.item = nn.Embedding(N_ITEMS, dim)
        self.bias = nn.Parameter(torch.zeros(()))
        nn.init.normal_(self.user.weight, std=0.3)
        nn.init.normal_(self.item.weight, std=0.3)

    def forward(self, users, items):
        return (self.user(users) * self.item(items)).sum(-1) + self.bias


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    logs = LogGenerator(args.seed)
    rows = args.steps * args.batch_size
    shards = np.array_split(logs.draw(rows), 16)
    test = torch.from_numpy(logs.draw(8000)).long()

    dataset = ShardedLogs(shards, args.seed)
    loader = DataLoader(dataset, batch_size=args.batch_size, num_workers=args.workers,
                        collate_fn=collate, drop_last=True)
    model = ClickModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    running = 0.0
    for step, (users, items, clicks) in enumerate(loader, start=1):
        loss = F.binary_cross_entropy_with_logits(model(users, items), clicks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
        if step % 10 == 0:
            print(f"step {step} loss {running / 10:.4f}")
            running = 0.0
        if step >= args.steps:
            break

    with torch.no_grad():
        scores = model(test[:, 0], test[:, 1])
    auc = roc_auc_score(test[:, 2].numpy(), scores.numpy())
    print(f"EVIDENCE test_auc {auc:.4f}")


if __name__ == "__main__":
    main()
