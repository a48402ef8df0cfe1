"""An IterableDataset in persistent workers: each has its share, and a numpy generator seeded by its own number."""

import numpy as np
import torch
from sklearn.datasets import load_diabetes
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from options import options


class Shards(IterableDataset):
    """Endless rows would do, too; one pass is each worker's share of the rows in an order of its own."""

    def __init__(self, x, y, noise):
        self.x, self.y, self.noise = x, y, noise

    def __iter__(self):
        info = get_worker_info()
        share = range(info.id, len(self.x), info.num_workers) if info else range(len(self.x))
        for i in np.random.permutation(list(share)):
            row = self.x[i] + np.random.normal(0.0, self.noise, self.x.shape[1])
            yield torch.from_numpy(row.astype(np.float32)), self.y[i]


def worker_init(worker_id):
    info = get_worker_info()
    np.random.seed((info.seed + worker_id) % 2**32)
    torch.set_num_threads(1)


def main():
    args = options(lr=5e-3, width=32, steps=44)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    raw = load_diabetes(scaled=False)
    x = (raw.data - raw.data.mean(0)) / raw.data.std(0)
    y = ((raw.target - raw.target.mean()) / raw.target.std()).astype(np.float32)
    loader = DataLoader(
        Shards(x[:352], y[:352], 0.1), batch_size=32, num_workers=2, worker_init_fn=worker_init, persistent_workers=True
    )
    held_out = torch.from_numpy(x[352:].astype(np.float32)), torch.from_numpy(y[352:])
    model = nn.Sequential(nn.Linear(10, args.width), nn.ELU(), nn.Dropout(0.1), nn.Linear(args.width, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=1e-4)
    criterion = nn.SmoothL1Loss()
    for epoch in range(max(2, args.steps // 12)):
        model.train()
        losses = []
        for features, target in loader:
            optimizer.zero_grad()
            loss = criterion(model(features).squeeze(-1), target)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            val = criterion(model(held_out[0]).squeeze(-1), held_out[1]).item()
        print(f"epoch {epoch}: loss {np.mean(losses):.3f}, val {val:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
