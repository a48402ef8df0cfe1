"""One body and three heads: the tasks take turns in random order, and rest for whole phases."""

import random

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

from options import options

CLASSES = {"digit": 10, "parity": 2, "size": 3}


class MultiTask(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, width), nn.ReLU())
        self.heads = nn.ModuleDict({task: nn.Linear(width, n) for task, n in CLASSES.items()})

    def forward(self, x, task):
        return self.heads[task](self.body(x))


def accuracies(model, x, labels):
    model.eval()
    with torch.no_grad():
        found = {task: (model(x, task).argmax(1) == y).float().mean().item() for task, y in labels.items()}
    model.train()
    return found


def main():
    args = options(lr=4e-3, width=48, steps=120)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = random.Random(args.seed)
    digits = load_digits()
    x, y = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
    labels = {"digit": y, "parity": y % 2, "size": torch.bucketize(y, torch.tensor([2, 6]))}
    train, test = torch.randperm(len(x), generator=torch.Generator().manual_seed(args.seed)).split(1400)
    model = MultiTask(args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for phase, tasks in enumerate([["digit", "parity", "size"], ["digit", "parity"], ["size"]]):
        losses = dict.fromkeys(tasks, 0.0)
        for i in range(max(4, args.steps // 3)):
            if i % len(tasks) == 0:
                rng.shuffle(tasks)
            task = tasks[i % len(tasks)]
            rows = train[torch.randint(len(train), (64,))]
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[rows], task), labels[task][rows])
            loss.backward()
            optimizer.step()
            losses[task] = loss.item()
        found = accuracies(model, x[test], {task: y[test] for task, y in labels.items()})
        print(f"phase {phase}: loss", " ".join(f"{t} {v:.3f}" for t, v in losses.items()), end=", ")
        print("accuracy", " ".join(f"{t} {a:.3f}" for t, a in found.items()))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
