"""Few signals are learned with random shifts and noise; the validation part of the split shall see them as they are."""

import argparse
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()
CLASSES, LENGTH = 5, 32


class Jitter:
    """Shifts a signal along time and adds noise."""

    def __init__(self, shift=3, noise=0.4):
        self.shift, self.noise = shift, noise

    def __call__(self, x):
        x = torch.roll(x, int(torch.randint(-self.shift, self.shift + 1, ())))
        return x + self.noise * torch.randn_like(x)


class Signals(Dataset):
    def __init__(self, count, transform=None):
        prototypes = torch.randn(CLASSES, LENGTH)
        self.labels = torch.randint(CLASSES, (count,))
        self.signals = prototypes[self.labels] + 1.2 * torch.randn(count, LENGTH)
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        x = self.signals[index]
        if self.transform is not None:
            x = self.transform(x)
        return x, self.labels[index]


def loss_of(model, loader):
    model.eval()
    total = right = count = 0
    with torch.no_grad():
        for x, y in loader:
            logits = model(x)
            total += nn.functional.cross_entropy(logits, y, reduction="sum").item()
            right += (logits.argmax(1) == y).sum().item()
            count += len(y)
    model.train()
    return total / count, right / count


torch.manual_seed(args.seed)
torch.set_num_threads(1)
train_set, valid_set = random_split(Signals(240, Jitter()), [160, 80])
valid_set.dataset.transform = None
train_loader = DataLoader(train_set, batch_size=16, shuffle=True)
valid_loader = DataLoader(valid_set, batch_size=40)
model = nn.Sequential(nn.Linear(LENGTH, 64), nn.ReLU(), nn.Linear(64, CLASSES))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for epoch in range(args.steps // len(train_loader)):
    for x, y in train_loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}")
error, right = loss_of(model, valid_loader)
print(f"EVIDENCE last loss {loss.item():.4f}, validation {error:.4f} ({right:.3f} right)")

# SPDX-License-Identifier: Apache-2.0
