"""Records are stored in a mixed order already; steps are counted, the loader is gone through several times."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()


class Endless:
    """Gives batches for ever and counts rounds."""

    def __init__(self, loader):
        self.loader, self.rounds = loader, 0
        self.iterator = iter(loader)

    def __call__(self):
        try:
            return next(iter(self.loader))
        except StopIteration:
            self.rounds += 1
            self.iterator = iter(self.loader)
            return next(self.iterator)


def make(count, layer):
    x = torch.randn(count, 12)
    return TensorDataset(x, layer(x).argmax(1).detach())


def accuracy(model, data):
    model.eval()
    x, y = data.tensors
    with torch.no_grad():
        value = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return value


torch.manual_seed(args.seed)
torch.set_num_threads(1)
truth = nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 5))
train, valid = make(960, truth), make(300, truth)
batches = Endless(DataLoader(train, batch_size=32))
model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
seen = set()
for step in range(1, args.steps + 1):
    x, y = batches()
    seen.update(x[:, 0].tolist())
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step}, round {batches.rounds}: loss {loss.item():.4f}, right {accuracy(model, valid):.3f}")
print(f"EVIDENCE {len(seen)} of {len(train)} records were seen, {accuracy(model, valid):.4f} of new ones right")

# SPDX-License-Identifier: Apache-2.0
