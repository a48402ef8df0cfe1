"""A factorisation model with pairs of fields; the click of a user is predicted."""

import argparse

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=150)
args = parser.parse_args()
FIELDS, VALUES = 4, 12


class PairAttention(nn.Module):
    def __init__(self, width=12, dropout=0.3):
        super().__init__()
        self.embed = nn.Embedding(FIELDS * VALUES, width)
        self.linear = nn.Embedding(FIELDS * VALUES, 1)
        self.weigh = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))
        self.out, self.dropout = nn.Linear(width, 1), dropout
        self.register_buffer("offsets", torch.arange(FIELDS) * VALUES)
        self.pairs = torch.combinations(torch.arange(FIELDS)).t()

    def forward(self, fields):
        ids = fields + self.offsets
        x = self.embed(ids)
        product = x[:, self.pairs[0]] * x[:, self.pairs[1]]
        weights = self.weigh(product).softmax(1)
        pooled = F.dropout((weights * product).sum(1), self.dropout, training=self.training)
        return (self.out(pooled) + self.linear(ids).sum(1)).squeeze(1)


def evaluate(model, loader):
    model.eval()
    logits, labels = [], []
    with torch.no_grad():
        for fields, clicked in loader:
            logits.append(model(fields))
            labels.append(clicked)
    model.train()
    return F.binary_cross_entropy_with_logits(torch.cat(logits), torch.cat(labels)).item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
fields = torch.randint(VALUES, (1600, FIELDS))
taste = torch.randn(FIELDS, VALUES, 3)
chosen = torch.stack([taste[f, fields[:, f]] for f in range(FIELDS)], dim=1)
clicked = ((chosen[:, 0] * chosen[:, 1]).sum(1) + (chosen[:, 2] * chosen[:, 3]).sum(1) > 0).float()
train = DataLoader(TensorDataset(fields[:1280], clicked[:1280]), batch_size=64, shuffle=True)
valid = DataLoader(TensorDataset(fields[1280:], clicked[1280:]), batch_size=160)
model = PairAttention()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
step = 0
while step < args.steps:
    for batch, target in train:
        loss = F.binary_cross_entropy_with_logits(model(batch), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    print(f"step {step}: loss {loss.item():.4f}, validation {evaluate(model, valid):.4f}")
twice = [evaluate(model, valid) for _ in range(2)]
print(f"EVIDENCE two validations of one model differ by {abs(twice[0] - twice[1]):.6f}")

# SPDX-License-Identifier: Apache-2.0
