"""Weights of classes follow the recall of the last validation; without progress the rate is halved, then training ends."""

import argparse
import dataclasses

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()
CLASSES = 4


@dataclasses.dataclass
class Patience:
    limit: int
    best: float = 0.0
    bad: int = 0
    cuts: int = 0

    def see(self, value, optimizer):
        """True if it is enough."""
        if value > self.best + 1e-3:
            self.best, self.bad = value, 0
            return False
        self.bad += 1
        if self.bad >= self.limit:
            self.bad, self.cuts = 0, self.cuts + 1
            for group in optimizer.param_groups:
                group["lr"] /= 2
        return self.cuts > 2


def recall(model, x, y):
    model.eval()
    with torch.no_grad():
        guess = model(x).argmax(1)
    model.train()
    return torch.stack([(guess[y == c] == c).float().mean() if (y == c).any() else torch.tensor(1.0) for c in range(CLASSES)])


def make(count, centres, shares):
    y = torch.multinomial(shares, count, replacement=True)
    return centres[y] + torch.randn(count, centres.shape[1]), y


torch.manual_seed(args.seed)
torch.set_num_threads(1)
centres, shares = torch.randn(CLASSES, 10), torch.tensor([0.6, 0.25, 0.1, 0.05])
x, y = make(480, centres, shares)
valid_x, valid_y = make(240, centres, shares)
sampler = WeightedRandomSampler((1 / shares[y]).sqrt(), 480)
loader = DataLoader(TensorDataset(x, y), batch_size=32, sampler=sampler)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, CLASSES))
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
weights, patience, step = torch.ones(CLASSES), Patience(2), 0
while step < args.steps:
    for batch_x, batch_y in loader:
        loss = nn.functional.cross_entropy(model(batch_x), batch_y, weight=weights)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    found = recall(model, valid_x, valid_y)
    weights = 1 / (0.3 + found)
    weights = weights / weights.mean()
    print(f"step {step}: loss {loss.item():.4f}, recall {found.mean():.3f}, weights {[round(w, 2) for w in weights.tolist()]}")
    if patience.see(found.mean().item(), optimizer):
        print("no progress")
        break

# SPDX-License-Identifier: Apache-2.0
