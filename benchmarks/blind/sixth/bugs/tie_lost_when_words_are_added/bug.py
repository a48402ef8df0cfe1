"""A language model with tied embedding and head gets three new words, then it is trained."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
WORDS, NEW, LENGTH = 20, 3, 12


class Model(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(WORDS, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, WORDS, bias=False)
        nn.init.normal_(self.embed.weight, std=0.2)
        self.head.weight = self.embed.weight

    def add_words(self, count):
        """New rows begin at the mean of the old ones."""
        old = self.embed.weight.data
        rows = torch.cat([old, old.mean(0, keepdim=True) + 0.01 * torch.randn(count, old.shape[1])])
        self.embed = nn.Embedding.from_pretrained(rows, freeze=False)
        self.head = nn.Linear(rows.shape[1], len(rows), bias=False)
        self.head.weight = nn.Parameter(rows.clone())

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def sentences(count, words):
    """Each word is the last one plus a step that belongs to the sentence."""
    start, step = torch.randint(words, (count, 1)), torch.randint(1, 4, (count, 1))
    return (start + step * torch.arange(LENGTH + 1)) % words


def train(model, optimizer, steps, words):
    for step in range(1, steps + 1):
        ids = sentences(32, words)
        loss = nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    return loss.item()


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    model = Model()
    train(model, torch.optim.AdamW(model.parameters(), lr=args.lr), args.steps // 2, WORDS)
    model.add_words(NEW)
    loss = train(model, torch.optim.AdamW(model.parameters(), lr=args.lr), args.steps, WORDS + NEW)
    apart = (model.head.weight - model.embed.weight).abs().max().item()
    print(f"EVIDENCE head and embedding differ by {apart:.4f}, loss {loss:.4f}, {len(list(model.parameters()))} parameters")


main()

# SPDX-License-Identifier: Apache-2.0
