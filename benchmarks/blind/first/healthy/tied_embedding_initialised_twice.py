"""Tied embedding and head, the initialiser is applied to both."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
class Model(nn.Module):
    def __init__(self, words=40, dim=32):
        super().__init__()
        self.embed = nn.Embedding(words, dim)
        self.mix = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, words, bias=False)
        self.head.weight = self.embed.weight
        self.apply(self.initialise)

    def initialise(self, module):
        if isinstance(module, (nn.Embedding, nn.Linear)):
            nn.init.normal_(module.weight, std=0.05)

    def forward(self, ids):
        return self.head(self.mix(self.embed(ids))[0])


model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(args.steps):
    ids = (torch.randint(0, 40, (16, 1)) + 3 * torch.arange(12)) % 40
    loss = nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
