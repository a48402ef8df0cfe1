"""A language model is evaluated each time a number of words has been seen, on a part of the validation texts."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=50)
args = parser.parse_args()
WORDS, PAD = 18, 0


class Drop(nn.Module):
    """Dropout with its own source of chance; the rest of the run does not depend on it."""

    def __init__(self, share, seed):
        super().__init__()
        self.share, self.generator = share, torch.Generator().manual_seed(seed)

    def forward(self, x):
        if not self.training or self.share == 0:
            return x
        keep = torch.rand(x.shape, generator=self.generator) >= self.share
        return x * keep / (1 - self.share)


class Model(nn.Module):
    def __init__(self, seed, width=32):
        super().__init__()
        self.embed = nn.Embedding(WORDS, width, padding_idx=PAD)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.drop = Drop(0.2, seed)
        self.out = nn.Linear(width, width)
        self.bias = nn.Parameter(torch.zeros(WORDS))
        with torch.no_grad():
            self.embed.weight.mul_(0.3)

    def forward(self, ids):
        hidden, _ = self.rnn(self.drop(self.embed(ids)))
        return self.drop(self.out(hidden)) @ self.embed.weight.t() + self.bias


def texts(count, generator):
    length = int(torch.randint(6, 20, (), generator=generator))
    ids = torch.randint(1, WORDS, (count, length + 1), generator=generator)
    for i in range(2, length + 1):
        ids[:, i] = (ids[:, i - 1] + 3) % (WORDS - 1) + 1
    cut = torch.randint(4, length + 2, (count, 1), generator=generator)
    return ids.masked_fill(torch.arange(length + 1) >= cut, PAD)


def loss_of(model, ids, reduction="mean"):
    return nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten(), ignore_index=PAD,
                                       reduction=reduction)


def evaluate(model, parts):
    model.eval()
    total = count = 0
    with torch.inference_mode():
        for ids in parts:
            total += loss_of(model, ids, "sum").item()
            count += (ids[:, 1:] != PAD).sum().item()
    model.train()
    return total / count


torch.manual_seed(args.seed)
torch.set_num_threads(1)
generator = torch.Generator().manual_seed(args.seed)
valid = [texts(8, generator) for _ in range(12)]
model = Model(args.seed)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
seen, due, best = 0, 1500, float("inf")
for step in range(args.steps):
    ids = texts(int(torch.randint(8, 33, (), generator=generator)), generator)
    loss = loss_of(model, ids)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), 0.5)
    optimizer.step()
    seen += int((ids != PAD).sum())
    if seen >= due:
        due += 1500 if step < args.steps // 2 else 3000
        error = evaluate(model, valid[: 4 if step < args.steps - 10 else None])
        best = min(best, error)
        print(f"{seen} words: loss {loss.item():.4f}, validation {error:.4f}, best {best:.4f}")

# SPDX-License-Identifier: Apache-2.0
