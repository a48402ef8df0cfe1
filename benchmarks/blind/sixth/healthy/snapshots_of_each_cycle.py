"""Snapshots at the end of each cosine cycle; cycles get longer, the answers of the last three are averaged."""

import argparse
import math
import pathlib
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=105)
args = parser.parse_args()
FIRST = 15


def cycles(total):
    """Lengths that double while there is room; the rest makes the last one longer."""
    lengths, length = [], FIRST
    while sum(lengths) + length <= total:
        lengths.append(length)
        length *= 2
    lengths[-1] += total - sum(lengths)
    return lengths


def build():
    return nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 3))


def forever(loader):
    while True:
        yield from loader


@torch.no_grad()
def together(files, x):
    answers = []
    for file in files:
        member = build()
        member.load_state_dict(torch.load(file))
        answers.append(member.eval()(x).softmax(1))
    return torch.stack(answers).mean(0)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
rule = torch.randn(8, 3)
x, valid_x = torch.randn(400, 8), torch.randn(200, 8)
y, valid_y = ((part.square() @ rule).argmax(1) for part in (x, valid_x))
batches = forever(DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True))
model = build()
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
with tempfile.TemporaryDirectory() as name:
    files = []
    for number, length in enumerate(cycles(max(args.steps, FIRST))):
        for step in range(length):
            optimizer.param_groups[0]["lr"] = args.lr * 0.8 ** number * (1 + math.cos(math.pi * step / length)) / 2
            batch_x, batch_y = next(batches)
            loss = nn.functional.cross_entropy(model(batch_x), batch_y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        file = pathlib.Path(name) / f"cycle{number}.pt"
        torch.save(model.state_dict(), file)
        files.append(file)
        if len(files) > 2:
            files.pop(0).unlink()
        right = (together(files, valid_x).argmax(1) == valid_y).float().mean().item()
        print(f"cycle {number} of {length} steps: loss {loss.item():.4f}, together {right:.3f} right")

# SPDX-License-Identifier: Apache-2.0
