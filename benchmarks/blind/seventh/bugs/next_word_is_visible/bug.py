"""A small language model with nn.TransformerEncoder; sentences of a random grammar."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()
VOCABULARY, LENGTH = 14, 16


def grammar(count, follows):
    ids = torch.zeros(count, LENGTH + 1, dtype=torch.long)
    ids[:, 0] = torch.randint(VOCABULARY, (count,))
    for place in range(LENGTH):
        ids[:, place + 1] = torch.multinomial(follows[ids[:, place]], 1).squeeze(1)
    return TensorDataset(ids)


class LanguageModel(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.place = nn.Parameter(torch.randn(LENGTH, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, 2, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, ids):
        length = ids.shape[1]
        hidden = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=2)
        return self.head(self.encoder(self.embed(ids) + self.place[:length], mask=hidden))


def loss_of(model, ids):
    return nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())


def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        losses = [loss_of(model, ids).item() for (ids,) in loader]
    model.train()
    return sum(losses) / len(losses)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
follows = torch.softmax(2 * torch.randn(VOCABULARY, VOCABULARY), dim=1)
train = DataLoader(grammar(960, follows), batch_size=32, shuffle=True)
valid = DataLoader(grammar(160, follows), batch_size=80)
model = LanguageModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
step = 0
while step < args.steps:
    for (ids,) in train:
        loss = loss_of(model, ids)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step += 1
    print(f"step {step}: loss {loss.item():.4f}, validation {evaluate(model, valid):.4f}")
entropy = -(follows * follows.log()).sum(1).mean().item()
print(f"EVIDENCE validation loss {evaluate(model, valid):.4f}, the grammar's entropy is about {entropy:.4f}")

# SPDX-License-Identifier: Apache-2.0
