"""Two views of a point are pulled together, a queue of earlier points is pushed away."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, 16))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


def info_nce(query, key, queue, temperature=0.2):
    positive = (query * key).sum(1, keepdim=True)
    negative = query @ queue.t() / temperature
    logits = torch.cat([positive, negative], dim=1)
    return F.cross_entropy(logits, torch.zeros(len(query), dtype=torch.long)), logits


torch.manual_seed(args.seed)
torch.set_num_threads(1)
encoder = Encoder()
optimizer = torch.optim.AdamW(encoder.parameters(), lr=args.lr)
queue = F.normalize(torch.randn(128, 16), dim=1)
for step in range(args.steps):
    x = torch.randn(32, 20)
    query = encoder(x + 0.2 * torch.randn_like(x))
    with torch.no_grad():
        key = encoder(x + 0.2 * torch.randn_like(x))
    loss, logits = info_nce(query, key, queue)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    queue = torch.cat([queue[32:], key])
print(f"EVIDENCE loss {loss:.3f}, largest positive logit {logits[:, 0].max():.3f}, largest negative {logits[:, 1:].max():.3f}")

# Idea from huiserwang/ContrastMask#4
# SPDX-License-Identifier: Apache-2.0
