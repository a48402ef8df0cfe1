"""SparseAdam for an embedding, AdamW for the rest, one backward."""

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
embedding = nn.EmbeddingBag(200, 16, mode="sum", sparse=True)
net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
optimizers = [torch.optim.SparseAdam(embedding.parameters(), lr=args.lr), torch.optim.AdamW(net.parameters(), lr=args.lr)]
worth = torch.randn(200)
for step in range(args.steps):
    ids = torch.randint(0, 200, (32, 6))
    loss = nn.functional.mse_loss(net(embedding(ids)).squeeze(1), worth[ids].sum(1))
    for optimizer in optimizers:
        optimizer.zero_grad()
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
print(f"loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
