"""A small language model on nn.TransformerEncoder; it must not see what comes."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

T = 24


class LanguageModel(nn.Module):
    def __init__(self, words=32, dim=48):
        super().__init__()
        self.words, self.places = nn.Embedding(words, dim), nn.Embedding(T, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(dim, words)
        self.register_buffer("mask", torch.tril(torch.ones(T, T)))

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        return self.head(self.blocks(x, mask=self.mask[: ids.shape[1], : ids.shape[1]]))


table = torch.softmax(2.5 * torch.randn(32, 32), 1)


def chains(n):
    ids = [torch.randint(0, 32, (n,))]
    while len(ids) <= T:
        ids.append(torch.multinomial(table[ids[-1]], 1)[:, 0])
    return torch.stack(ids, 1)


model = LanguageModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(args.steps):
    ids = chains(24)
    loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
ids = chains(2)[:, :-1]
changed = ids.clone()
changed[:, -1] = (changed[:, -1] + 1) % 32
with torch.no_grad():
    moved = (model(ids)[:, 0] - model(changed)[:, 0]).abs().max()
print(f"EVIDENCE the last word moves the first answer by {moved:.5f}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
