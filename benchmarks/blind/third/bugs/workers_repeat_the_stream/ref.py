"""A stream of records is read by two workers."""

import argparse
import itertools

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=30)
args = parser.parse_args()


class Stream(IterableDataset):
    def __init__(self, seed):
        self.seed = seed

    def records(self):
        generator = torch.Generator().manual_seed(self.seed)
        while True:
            x = torch.randn(10, generator=generator)
            yield x, x[:5].sum() * x[5:].mean()

    def __iter__(self):
        worker = get_worker_info()
        return itertools.islice(self.records(), worker.id, None, worker.num_workers)


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    loader = DataLoader(Stream(args.seed), batch_size=16, num_workers=2)
    seen = []
    for x, y in itertools.islice(loader, args.steps):
        loss = nn.functional.mse_loss(model(x).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(x)
    seen = torch.cat(seen)
    print(f"EVIDENCE {len(seen)} samples, {len(seen.unique(dim=0))} of them different, loss {loss:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
