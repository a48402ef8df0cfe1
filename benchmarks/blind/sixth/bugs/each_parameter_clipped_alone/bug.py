"""An LSTM learns to remember the first symbol of a row; gradients are clipped, their norms are logged."""

import argparse
import statistics

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=90)
args = parser.parse_args()
SYMBOLS, LENGTH = 6, 20


class Recall(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(SYMBOLS, 12)
        self.lstm = nn.LSTM(12, hidden, batch_first=True)
        self.head = nn.Linear(hidden, SYMBOLS)

    def forward(self, ids):
        _, (hidden, _) = self.lstm(self.embed(ids))
        return self.head(hidden[-1])


class Clipper:
    def __init__(self, model, max_norm):
        self.parameters, self.max_norm, self.applied = list(model.parameters()), max_norm, []

    def clip(self):
        for parameter in self.parameters:
            nn.utils.clip_grad_norm_(parameter, self.max_norm)
        self.applied.append(torch.stack([p.grad.norm() for p in self.parameters]).norm().item())


def batch(size):
    ids = torch.randint(SYMBOLS, (size, LENGTH))
    return ids, ids[:, 0]


def train(model, clipper, optimizer):
    losses = []
    for step in range(1, args.steps + 1):
        ids, first = batch(32)
        loss = nn.functional.cross_entropy(model(ids), first)
        optimizer.zero_grad()
        loss.backward()
        clipper.clip()
        optimizer.step()
        losses.append(loss.item())
        if step % 30 == 0:
            print(f"step {step}: loss {statistics.fmean(losses[-30:]):.4f}, norm {clipper.applied[-1]:.4f}")
    return losses


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Recall()
clipper = Clipper(model, max_norm=0.05)
losses = train(model, clipper, torch.optim.SGD(model.parameters(), lr=20 * args.lr, momentum=0.9))
print(f"EVIDENCE the greatest norm that was stepped with is {max(clipper.applied):.4f}, allowed is {clipper.max_norm}")

# SPDX-License-Identifier: Apache-2.0
