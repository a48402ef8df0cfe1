"""Which module a line of source is from: a GRU with attention over time, accumulation with a shorter last group."""

import argparse
import fractions
import heapq
import inspect
import random
import re
import textwrap

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

from options import options

MODULES = [argparse, fractions, heapq, textwrap]
ACCUMULATE = 4


def read_lines(per_module, seed):
    """(words, index of the module) for lines with at least three words."""
    rng, lines = random.Random(seed), []
    for label, module in enumerate(MODULES):
        words = [re.findall(r"[A-Za-z]+", line.lower()) for line in inspect.getsource(module).splitlines()]
        words = [w[:16] for w in words if len(w) >= 3]
        lines += [(w, label) for w in rng.sample(words, min(per_module, len(words)))]
    rng.shuffle(lines)
    return lines


class Collate:
    """Words into padded numbers; 0 pads, 1 is any word that training did not have."""

    def __init__(self, lines):
        self.index = {w: i + 2 for i, w in enumerate(sorted({w for words, _ in lines for w in words}))}

    def __call__(self, batch):
        ids = [torch.tensor([self.index.get(w, 1) for w in words]) for words, _ in batch]
        return pad_sequence(ids, batch_first=True), torch.tensor([label for _, label in batch])


class Classifier(nn.Module):
    def __init__(self, vocabulary, width):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width, padding_idx=0)
        self.rnn = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.score = nn.Sequential(nn.Linear(2 * width, width), nn.Tanh(), nn.Linear(width, 1))
        self.dropout = nn.Dropout(0.2)
        self.out = nn.Linear(2 * width, len(MODULES))

    def forward(self, ids):
        states, _ = self.rnn(self.dropout(self.embed(ids)))
        scores = self.score(states).masked_fill((ids == 0).unsqueeze(-1), float("-inf"))
        weights = torch.softmax(scores, dim=1)
        return self.out(self.dropout((weights * states).sum(dim=1)))


def main():
    args = options(lr=1e-2, width=32, steps=48)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    lines = read_lines(140, args.seed)
    train, test = lines[:440], lines[440:]
    collate = Collate(train)
    train_loader = DataLoader(train, batch_size=16, shuffle=True, drop_last=True, collate_fn=collate)
    test_loader = DataLoader(test, batch_size=64, collate_fn=collate)
    model = Classifier(len(collate.index) + 2, args.width)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    steps_per_epoch = -(-len(train_loader) // ACCUMULATE)
    epochs = max(2, args.steps // steps_per_epoch)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * steps_per_epoch)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for i, (ids, labels) in enumerate(train_loader):
            loss = criterion(model(ids), labels)
            (loss / ACCUMULATE).backward()
            total += loss.item()
            if (i + 1) % ACCUMULATE == 0 or i + 1 == len(train_loader):
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                scheduler.step()
        model.eval()
        with torch.no_grad():
            hits = sum((model(ids).argmax(1) == labels).sum().item() for ids, labels in test_loader)
        print(f"epoch {epoch}: loss {total / len(train_loader):.3f}, accuracy {hits / len(test):.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
