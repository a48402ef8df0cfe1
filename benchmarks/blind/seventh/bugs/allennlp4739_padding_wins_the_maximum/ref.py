"""Sentences of unequal length: convolutions over words, a maximum over time, a value that is predicted."""

import argparse

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=160)
args = parser.parse_args()
PAD, WORDS = 0, 30


class Sentences(torch.utils.data.Dataset):
    """The target is the greatest worth of two neighbouring words, which mostly is below nought."""

    def __init__(self, count, worth):
        self.rows = [torch.randint(1, WORDS, (int(n),)) for n in torch.randint(3, 12, (count,))]
        self.targets = [(worth[row[:-1]] + worth[row[1:]]).max() - 2 for row in self.rows]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index], self.targets[index]


def collate(batch):
    rows, targets = zip(*batch)
    return pad_sequence(rows, batch_first=True, padding_value=PAD), torch.stack(targets)


class ConvEncoder(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.words = nn.Embedding(WORDS, width, padding_idx=PAD)
        self.conv = nn.Conv1d(width, 32, 2, padding=1)
        self.head = nn.Linear(32, 1)

    def forward(self, ids):
        features = self.conv(self.words(ids).transpose(1, 2))[:, :, 1:]
        after = torch.cat([ids[:, 1:] == PAD, torch.ones(len(ids), 1, dtype=torch.bool)], dim=1)
        features = features.masked_fill(after[:, None], float("-inf"))
        pooled = features.amax(dim=2)
        return self.head(pooled).squeeze(1), pooled


torch.manual_seed(args.seed)
torch.set_num_threads(1)
worth = torch.randn(WORDS)
train = DataLoader(Sentences(640, worth), batch_size=32, shuffle=True, collate_fn=collate)
valid = DataLoader(Sentences(200, worth), batch_size=50, collate_fn=collate)
model = ConvEncoder()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for epoch in range(args.steps // len(train)):
    model.train()
    for ids, target in train:
        loss = nn.functional.mse_loss(model(ids)[0], target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        errors, lowest = zip(*[((model(ids)[0] - target).square().mean(), model(ids)[1].min()) for ids, target in valid])
    print(f"epoch {epoch}: loss {loss.item():.4f}, error {sum(errors) / len(errors):.4f}")
print(f"EVIDENCE the error is {sum(errors) / len(errors):.4f}, the least maximum {min(lowest):.4f}")

# SPDX-License-Identifier: Apache-2.0
