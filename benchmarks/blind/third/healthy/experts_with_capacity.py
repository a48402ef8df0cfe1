"""A language model with a mixture of experts: tokens beyond an expert's capacity pass by it."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=36)
args = parser.parse_args()


class Experts(nn.Module):
    def __init__(self, dim=24, n=6, capacity=1.25):
        super().__init__()
        self.router = nn.Linear(dim, n, bias=False)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(dim, 32), nn.GELU(), nn.Linear(32, dim)) for _ in range(n))
        self.capacity = capacity

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        logits = self.router(flat)
        if self.training:
            logits = logits + 0.3 * torch.randn_like(logits)
        probability, chosen = logits.softmax(-1).max(-1)
        limit, out = int(self.capacity * len(flat) / len(self.experts)), torch.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            rows = (chosen == i).nonzero().squeeze(1)[:limit]
            if rows.numel():
                out = out.index_add(0, rows, expert(flat[rows]) * probability[rows, None])
        share = F.one_hot(chosen, len(self.experts)).float().mean(0)
        balance = len(self.experts) * (share * logits.softmax(-1).mean(0)).sum()
        return x + out.view_as(x), balance


torch.manual_seed(args.seed)
torch.set_num_threads(1)
embed, rnn, moe, head = nn.Embedding(18, 24), nn.GRU(24, 24, batch_first=True), Experts(), nn.Linear(24, 18)
model = nn.ModuleList([embed, rnn, moe, head])
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(args.steps):
    tokens = (torch.randint(0, 18, (12, 1)) + torch.randint(1, 4, (12, 1)) * torch.arange(11)) % 18
    hidden, balance = moe(rnn(embed(tokens[:, :-1]))[0])
    loss = F.cross_entropy(head(hidden).transpose(1, 2), tokens[:, 1:]) + 0.01 * balance
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss:.3f}, balance {balance:.3f}")

# SPDX-License-Identifier: Apache-2.0
