"""A transformer encoder that sorts short texts by their only marked word."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=90)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

PAD, VOCABULARY, LENGTH = 0, 50, 14


class Classifier(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, dim)
        layer = nn.TransformerEncoderLayer(dim, nhead=4, dim_feedforward=64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.classify = nn.Linear(dim, 4)

    def forward(self, ids):
        padding = ids == PAD
        hidden = self.encoder(self.embedding(ids), src_key_padding_mask=padding)
        return self.classify(hidden[:, 0])


def texts(n):
    ids = torch.randint(10, VOCABULARY, (n, LENGTH))
    label = torch.randint(0, 4, (n,))
    lengths = torch.randint(5, LENGTH, (n,))
    ids[torch.arange(LENGTH) >= lengths[:, None]] = PAD
    ids[torch.arange(n), 1 + (torch.rand(n) * (lengths - 1)).long()] = 1 + label
    return ids, label


model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
model.train()
for step in range(args.steps):
    ids, label = texts(48)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(ids), label)
    loss.backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    ids, label = texts(256)
    print(f"EVIDENCE accuracy {(model(ids).argmax(1) == label).float().mean():.3f}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
