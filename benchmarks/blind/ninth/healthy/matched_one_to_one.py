"""A set of points is predicted: queries are matched with what is there by scipy, the rest learns 'nothing'."""

import argparse

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

KINDS, QUERIES = 3, 5


class Scenes(Dataset):
    """Signals in which none to four bumps of three shapes lie."""

    def __init__(self, count, seed):
        rng = np.random.default_rng(seed)
        grid, self.items = np.linspace(0, 1, 48), []
        for _ in range(count):
            number = rng.choice(5, p=[0.1, 0.3, 0.3, 0.2, 0.1])
            kinds, places = rng.integers(KINDS, size=number), rng.uniform(0.05, 0.95, number)
            signal = 0.05 * rng.normal(size=48)
            for kind, place in zip(kinds, places):
                d = (grid - place) / 0.05
                signal += [np.exp(-d ** 2), -np.exp(-d ** 2), d * np.exp(-d ** 2)][kind]
            self.items.append((torch.tensor(signal, dtype=torch.float32), torch.tensor(kinds),
                               torch.tensor(places, dtype=torch.float32)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


def collate(items):
    return torch.stack([item[0] for item in items]), [item[1:] for item in items]


class Detector(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, width, 5, 2, 2), nn.ReLU(), nn.Conv1d(width, width, 5, 2, 2), nn.ReLU())
        self.places = nn.Parameter(0.1 * torch.randn(12, width))
        self.queries = nn.Parameter(torch.randn(QUERIES, width))
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.body = nn.Sequential(nn.Linear(width, width), nn.ReLU())
        self.kind, self.place = nn.Linear(width, KINDS + 1), nn.Linear(width, 1)

    def forward(self, x):
        memory = self.conv(x[:, None]).transpose(1, 2) + self.places
        queries = self.queries.expand(len(x), -1, -1)
        hidden = self.body(queries + self.attention(queries, memory, memory, need_weights=False)[0])
        return self.kind(hidden), self.place(hidden).squeeze(-1).sigmoid()


@torch.no_grad()
def match(logits, places, kinds, truth):
    if len(kinds) == 0:
        return torch.empty(0, dtype=torch.long), torch.empty(0, dtype=torch.long)
    cost = 5 * (places[:, None] - truth[None]).abs() - logits.softmax(-1)[:, kinds]
    return tuple(torch.from_numpy(part) for part in linear_sum_assignment(cost.numpy()))


def criterion(logits, places, targets):
    classes, misses = torch.full(logits.shape[:2], KINDS), []
    for i, (kinds, truth) in enumerate(targets):
        rows, columns = match(logits[i], places[i], kinds, truth)
        classes[i, rows] = kinds[columns]
        misses.append((places[i, rows] - truth[columns]).abs())
    weight = torch.ones(KINDS + 1)
    weight[-1] = 0.3
    loss = F.cross_entropy(logits.flatten(0, 1), classes.flatten(), weight)
    misses = torch.cat(misses)
    return (loss + 5 * misses.sum() / max(1, len(misses))), len(misses)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    loader = DataLoader(Scenes(640, 2 * args.seed), batch_size=16, shuffle=True, collate_fn=collate)
    x_valid, valid = collate(Scenes(150, 2 * args.seed + 1))
    model = Detector()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)
    step, best = 0, float("inf")
    while step < args.steps:
        for x, targets in loader:
            loss, found = criterion(*model(x), targets)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            step += 1
            if step == args.steps:
                break
        with torch.no_grad():
            score = criterion(*model(x_valid), valid)[0].item()
        print(f"step {step}: loss {loss.item():.3f} with {found} things, validation {score:.3f}{' *' if score < best else ''}")
        best = min(best, score)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
