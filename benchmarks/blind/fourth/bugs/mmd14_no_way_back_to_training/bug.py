"""A tagger for sentences is validated every few steps within its epochs."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=1e-2)
parser.add_argument("--steps", type=int, default=64)
args = parser.parse_args()
WORDS, TAGS, EVERY = 60, 5, 8


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, 32)
        self.drop = nn.Dropout(0.4)
        self.rnn = nn.LSTM(32, 32, batch_first=True, bidirectional=True)
        self.out = nn.Linear(64, TAGS)

    def forward(self, words):
        return self.out(self.drop(self.rnn(self.drop(self.embed(words)))[0]))


def corpus(n, tag_of, length=12):
    words = torch.randint(WORDS, (n, length))
    before = words.roll(1, 1)
    return TensorDataset(words, torch.where(before % 4 == 0, tag_of[before], tag_of[words]))


def evaluate(model, loader):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for words, tags in loader:
            right += (model(words).argmax(-1) == tags).sum().item()
            total += tags.numel()
    return right / total


torch.manual_seed(args.seed)
torch.set_num_threads(1)
tag_of = torch.randint(TAGS, (WORDS,))
train_loader = DataLoader(corpus(512, tag_of), batch_size=16, shuffle=True)
val_loader = DataLoader(corpus(128, tag_of), batch_size=64)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
step, best = 0, 0.0
for epoch in range(args.steps // len(train_loader)):
    model.train()
    for words, tags in train_loader:
        loss = nn.functional.cross_entropy(model(words).flatten(0, 1), tags.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        step += 1
        if step % EVERY == 0:
            best = max(best, evaluate(model, val_loader))
            print(f"step {step}: loss {loss.item():.3f}, best accuracy {best:.3f}")
print(f"EVIDENCE training mode after validation: {model.training}, last loss {loss.item():.4f}")

# SPDX-License-Identifier: Apache-2.0
