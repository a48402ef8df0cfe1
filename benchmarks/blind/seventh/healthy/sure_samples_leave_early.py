"""Exits after each stage; the last ones weigh more as training goes on."""

import argparse

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.004), ("--steps", int, 150)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()
CLASSES = 6


class Stage(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, width), nn.BatchNorm1d(width), nn.ReLU())
        self.exit = nn.Linear(width, CLASSES)

    def forward(self, x):
        h = self.body(x)
        return h, self.exit(h)


class Cascade(nn.Module):
    def __init__(self, inputs, width=32, stages=3):
        super().__init__()
        self.stages = nn.ModuleList(Stage(inputs if k == 0 else width, width) for k in range(stages))

    def forward(self, x):
        logits = []
        for stage in self.stages:
            x, answer = stage(x)
            logits.append(answer)
        return logits

    @torch.no_grad()
    def answer(self, x, sure):
        """Answers, and how many leave at each exit."""
        result, left = torch.full((len(x),), -1), []
        rows = torch.arange(len(x))
        for k, stage in enumerate(self.stages):
            if len(rows) == 0:
                left.append(0)
                continue
            x, logits = stage(x)
            chance, guess = logits.softmax(1).max(1)
            leaves = (chance > sure) | torch.tensor(k == len(self.stages) - 1)
            result[rows[leaves]] = guess[leaves]
            left.append(int(leaves.sum()))
            x, rows = x[~leaves], rows[~leaves]
        return result, left


def exit_weights(share, count):
    weights = torch.tensor([1 - share + share * (k + 1) / count for k in range(count)])
    return weights / weights.sum()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
labels = torch.randint(CLASSES, (1100,))
x = (1.6 * torch.randn(CLASSES, 10))[labels] + torch.randn(1100, 10)
train = DataLoader(TensorDataset(x[:900], labels[:900]), batch_size=30, shuffle=True)
model = Cascade(10)
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr * 5, momentum=0.9, nesterov=True, weight_decay=1e-4)
step, epoch = 0, 0
while step < args.steps:
    model.train()
    weights = exit_weights(step / args.steps, len(model.stages))
    for inputs, target in train:
        losses = torch.stack([F.cross_entropy(answer, target) for answer in model(inputs)])
        loss = losses @ weights
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step == args.steps:
            break
    model.eval()
    for sure in (0.6, 0.9):
        guess, left = model.answer(x[900:], sure)
        print(f"step {step}: loss {loss.item():.4f}, sure at {sure}: right {(guess == labels[900:]).float().mean():.3f}, {left}")
    epoch += 1

# SPDX-License-Identifier: Apache-2.0
