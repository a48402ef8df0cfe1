"""Batches come from one of four sources; a bandit learns from the falling loss which one to draw; some are never drawn."""

import argparse
import math
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Sampler

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()
SOURCES, EACH, BATCH = 4, 200, 16


class Mixture(Dataset):
    def __init__(self):
        self.x = torch.randn(SOURCES * EACH, 10)
        noise = torch.tensor([0.05, 0.3, 1.0, 3.0]).repeat_interleave(EACH)
        self.y = torch.sin(self.x @ torch.randn(10) / 3) + noise * torch.randn(SOURCES * EACH)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index], self.y[index], index // EACH


class Bandit(Sampler):
    """Whole batches of a source that is drawn by its weight."""

    def __init__(self, batches):
        self.batches, self.weight = batches, [0.0] * SOURCES

    def chances(self):
        raw = [math.exp(min(w, 8.0)) for w in self.weight]
        return [0.9 * r / sum(raw) + 0.1 / SOURCES for r in raw]

    def __iter__(self):
        for _ in range(self.batches):
            source = random.choices(range(SOURCES), self.chances())[0]
            yield [source * EACH + i for i in random.sample(range(EACH), BATCH)]

    def __len__(self):
        return self.batches

    def reward(self, source, gain):
        self.weight[source] += 5.0 * gain / self.chances()[source] / SOURCES


random.seed(args.seed)
torch.manual_seed(args.seed)
torch.set_num_threads(1)
data, bandit = Mixture(), Bandit(args.steps)
loader = DataLoader(data, batch_sampler=bandit)
model = nn.Sequential(nn.Linear(10, 48), nn.Tanh(), nn.Linear(48, 1), nn.Flatten(0))
optimizer = torch.optim.Adagrad(model.parameters(), lr=args.lr, initial_accumulator_value=0.01)
for step, (x, y, source) in enumerate(loader):
    loss = nn.functional.huber_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        gain = loss.item() - nn.functional.huber_loss(model(x), y).item()
    bandit.reward(int(source[0]), gain)
    if step % 30 == 29:
        print(f"step {step}: loss {loss.item():.4f}, chances {[round(c, 2) for c in bandit.chances()]}")

# SPDX-License-Identifier: Apache-2.0
