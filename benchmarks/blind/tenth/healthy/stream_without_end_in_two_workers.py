"""Samples are made by two workers without an end; an epoch is a number of batches, a worker's part is skipped when it is too easy."""

import argparse
import itertools

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=200)
args = parser.parse_args()


class Sums(IterableDataset):
    """Rows of digits, some of them missing, and what they add up to; the first worker makes short rows, the other long ones."""

    def __init__(self, seed):
        self.seed = seed
        self.level = torch.ones((), dtype=torch.int64).share_memory_()

    def __iter__(self):
        worker = get_worker_info()
        number = worker.id if worker else 0
        generator = torch.Generator().manual_seed(self.seed * 100 + number)
        draw = lambda low, high: int(torch.randint(low, high, (), generator=generator))
        while True:
            length = draw(1, 4) if number == 0 else draw(3, 5 + min(3, int(self.level)))
            row = torch.randint(1, 10, (length,), generator=generator)
            if length > 1 and bool((row == row[0]).all()):
                continue
            yield row, float(row.sum())


def collate(rows):
    width = max(len(row) for row, _ in rows)
    padded = torch.zeros(len(rows), width, dtype=torch.int64)
    for place, (row, _) in enumerate(rows):
        padded[place, width - len(row):] = row
    return padded, torch.tensor([total for _, total in rows])


class Adder(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.digits = nn.Embedding(10, width, padding_idx=0)
        self.inner, self.leave = nn.Linear(width, width), nn.Linear(width, 1)

    def forward(self, rows):
        each = torch.tanh(self.inner(self.digits(rows))) * (rows != 0).unsqueeze(2)
        return self.leave(each.sum(1)).squeeze(1)


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    stream = Sums(args.seed)
    loader = DataLoader(stream, batch_size=24, num_workers=2, collate_fn=collate, prefetch_factor=2)
    test = collate(list(itertools.islice(iter(Sums(args.seed + 999)), 200)))
    model = Adder()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=args.lr)
    batches, skipped, step = iter(loader), 0, 0
    while step < args.steps:
        for rows, totals in itertools.islice(batches, 25):
            loss = nn.functional.huber_loss(model(rows), totals)
            if loss.item() < 0.01:
                skipped += 1
                stream.level += 1
            else:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            step += 1
        for group in optimizer.param_groups:
            group["lr"] *= 0.9
        with torch.no_grad():
            error = (model(test[0]) - test[1]).abs().mean().item()
        print(f"batch {step}: error {error:.4f}, {skipped} left out, rows of {rows.shape[1]}")
    print(f"error {error:.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
