"""Batches come from a large and a small set by chance; each has its own head and its own way to be used up."""

import argparse
import random

import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()


class Renewed:
    """A loader that starts anew; counts how often."""

    def __init__(self, loader):
        self.loader, self.iterator, self.rounds = loader, None, 0

    def next(self):
        if self.iterator is None:
            self.iterator = iter(self.loader)
            self.rounds += 1
        try:
            return next(self.iterator)
        except StopIteration:
            self.iterator = None
            return self.next()


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(14, 40), nn.LayerNorm(40), nn.GELU())
        self.heads = nn.ModuleDict({"class": nn.Linear(40, 3), "value": nn.Linear(40, 2)})

    def forward(self, x, task):
        return self.heads[task](self.trunk(x))


def loss_of(model, task, x, y):
    answer = model(x, task)
    return nn.functional.cross_entropy(answer, y) if task == "class" else nn.functional.huber_loss(answer, y)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
dice = random.Random(args.seed)
large, small = torch.randn(500, 14), torch.randn(70, 14)
classes = TensorDataset(large, (large @ torch.randn(14, 3)).argmax(1))
values = TensorDataset(small, small @ torch.randn(14, 2))
sources = {"class": Renewed(DataLoader(classes, batch_size=32, shuffle=True)),
           "value": Renewed(DataLoader(values, batch_sampler=BatchSampler(RandomSampler(values), 12, drop_last=False)))}
model = Two()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
last = {"class": float("nan"), "value": float("nan")}
for step in range(args.steps):
    task = "value" if dice.random() < 0.25 + 0.2 * (step > args.steps // 2) else "class"
    loss = loss_of(model, task, *sources[task].next())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    for head, module in model.heads.items():
        assert (module.weight.grad is None) == (head != task)
    optimizer.step()
    last[task] = loss.item()
print(f"last losses {last['class']:.4f} and {last['value']:.4f}; rounds {[source.rounds for source in sources.values()]}")

# SPDX-License-Identifier: Apache-2.0
