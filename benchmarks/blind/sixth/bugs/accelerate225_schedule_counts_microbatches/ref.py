"""A text classifier with accumulation over four micro-batches and a linear schedule with warm-up."""

import argparse
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=48)
args = parser.parse_args()
WORDS, LENGTH, ACCUMULATE = 40, 16, 4


def linear_with_warmup(optimizer, warmup, total):
    def factor(step):
        if step < warmup:
            return (step + 1) / (warmup + 1)
        return max(0.0, (total - step) / (total - warmup))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


class Classifier(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.EmbeddingBag(WORDS, width)
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, 2))

    def forward(self, ids):
        return self.head(self.embed(ids))


def texts(count, score):
    ids = torch.randint(WORDS, (count, LENGTH))
    return TensorDataset(ids, (score[ids].sum(1) > 0).long())


def accuracy(model, loader):
    model.eval()
    with torch.no_grad():
        right = torch.cat([model(ids).argmax(1) == y for ids, y in loader])
    model.train()
    return right.float().mean().item()


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    score = torch.randn(WORDS)
    loader = DataLoader(texts(512, score), batch_size=16, shuffle=True)
    valid = DataLoader(texts(256, score), batch_size=64)
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    epochs = math.ceil(args.steps * ACCUMULATE / len(loader))
    total = epochs * len(loader) // ACCUMULATE
    scheduler = linear_with_warmup(optimizer, 5, total)
    rates = []
    for epoch in range(epochs):
        for number, (ids, y) in enumerate(loader):
            loss = nn.functional.cross_entropy(model(ids), y) / ACCUMULATE
            loss.backward()
            if (number + 1) % ACCUMULATE == 0:
                optimizer.step()
                optimizer.zero_grad()
                rates.append(scheduler.get_last_lr()[0])
                scheduler.step()
        print(f"epoch {epoch}: rate {rates[-1]:.6f}, right {accuracy(model, valid):.3f}")
    print(f"EVIDENCE the rate of the last of {len(rates)} steps is {rates[-1] / args.lr:.4f} of the greatest")


main()

# SPDX-License-Identifier: Apache-2.0
