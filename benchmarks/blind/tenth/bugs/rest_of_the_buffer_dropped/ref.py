"""A stream of records is shuffled through a buffer in two workers and learned in a few passes."""

import argparse
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=160)
args = parser.parse_args()


class Records(IterableDataset):
    """Records come in the order in which they were written: seasons follow each other."""

    def __init__(self, x, y, buffer_size, seed):
        self.x, self.y, self.buffer_size, self.seed = x, y, buffer_size, seed
        self.epoch = 0

    def stream(self):
        info = get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        for index in range(first, len(self.x), step):
            yield index, self.x[index], self.y[index]

    def __iter__(self):
        chance = random.Random(f"{self.seed}/{self.epoch}")
        buffer = []
        for record in self.stream():
            if len(buffer) < self.buffer_size:
                buffer.append(record)
                continue
            place = chance.randrange(self.buffer_size)
            yield buffer[place]
            buffer[place] = record
        chance.shuffle(buffer)
        yield from buffer


def make_data(count):
    """What the first four measurements mean changes with the season, which is one of the inputs."""
    season = torch.arange(count) * 4 // count
    x = torch.randn(count, 8)
    rule = torch.randn(4, 8)
    y = ((x * rule[season]).sum(1) > 0).float()
    return torch.cat([x, nn.functional.one_hot(season, 4).float()], dim=1), y, season


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y, season = make_data(1600)
    held_out = torch.arange(1600) % 4 == 3
    records = Records(x[~held_out], y[~held_out], 200, args.seed)
    model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    step, seen, passes = 0, 0, 0
    while step < args.steps:
        records.epoch = passes
        for index, inputs, labels in DataLoader(records, batch_size=30, num_workers=2):
            loss = nn.functional.binary_cross_entropy_with_logits(model(inputs).squeeze(1), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += len(index)
            step += 1
        passes += 1
        print(f"pass {passes}, step {step}: loss {loss.item():.4f}")
    with torch.no_grad():
        right = ((model(x).squeeze(1) > 0).float() == y).float()[held_out]
    last = right[season[held_out] == 3].mean().item()
    print(f"EVIDENCE {seen / passes:.1f} of {len(records.x)} records in a pass, {right.mean().item():.4f} right, last season {last:.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
