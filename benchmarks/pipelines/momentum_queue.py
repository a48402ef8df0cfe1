"""A key encoder that is an average of the query encoder, norms' statistics included, and a queue of its older keys."""

import copy

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

from options import options


@torch.no_grad()
def follow(average, model, keep=0.95):
    for a, m in zip(average.parameters(), model.parameters()):
        a.lerp_(m, 1 - keep)
    for a, m in zip(average.buffers(), model.buffers()):
        a.copy_(m)


def main():
    args = options(lr=3e-2, width=64, steps=60)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x = torch.tensor(load_digits().data, dtype=torch.float32) / 16
    query = nn.Sequential(nn.Linear(64, args.width), nn.BatchNorm1d(args.width), nn.ReLU(), nn.Linear(args.width, 24))
    key = copy.deepcopy(query).requires_grad_(False).eval()
    optimizer = torch.optim.SGD(query.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    queue = F.normalize(torch.randn(256, 24), dim=1)
    for step in range(args.steps):
        batch = x[torch.randint(0, len(x), (64,))]
        q = F.normalize(query(batch + 0.2 * torch.randn_like(batch)), dim=1)
        with torch.no_grad():
            k = F.normalize(key(batch + 0.2 * torch.randn_like(batch)), dim=1)
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ queue.T], 1) / 0.1
        loss = F.cross_entropy(logits, torch.zeros(len(batch), dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        follow(key, query)
        queue = torch.cat([k, queue])[:256]
        if step % 20 == 19:
            print(f"step {step + 1}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
