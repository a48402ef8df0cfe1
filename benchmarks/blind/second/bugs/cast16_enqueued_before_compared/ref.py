"""Contrast with a queue of earlier keys, whose encoder follows slowly."""

import argparse
import copy

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class Contrast(nn.Module):
    def __init__(self, encoder, width=16, size=256, momentum=0.95, temperature=0.2):
        super().__init__()
        self.query, self.key = encoder, copy.deepcopy(encoder).requires_grad_(False)
        self.momentum, self.temperature = momentum, temperature
        self.register_buffer("queue", F.normalize(torch.randn(size, width), dim=1))
        self.pointer = 0

    @torch.no_grad()
    def follow(self):
        for k, q in zip(self.key.parameters(), self.query.parameters()):
            k.mul_(self.momentum).add_(q, alpha=1 - self.momentum)

    @torch.no_grad()
    def enqueue(self, keys):
        end = self.pointer + len(keys)
        self.queue[self.pointer : end] = keys
        self.pointer = end % len(self.queue)

    def forward(self, one, two):
        q = F.normalize(self.query(one), dim=1)
        with torch.no_grad():
            self.follow()
            k = F.normalize(self.key(two), dim=1)
        positive = (q * k).sum(1, keepdim=True)
        negative = q @ self.queue.clone().t()
        self.enqueue(k)
        logits = torch.cat([positive, negative], 1) / self.temperature
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long)), logits.detach()


def views(n, basis):
    """What both views share is a point on four axes; each adds noise on all axes."""
    content = torch.randn(n, 4) @ basis
    return [content + 0.5 * torch.randn_like(content) for _ in range(2)], content


def main():
    basis = torch.randn(4, 24)
    encoder = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 16))
    model = Contrast(encoder)
    optimizer = torch.optim.SGD(model.query.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    for step in range(args.steps):
        (one, two), _ = views(32, basis)
        loss, logits = model(one, two)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 19:
            print(f"step {step}: loss {loss.item():.3f}")
    equal = (logits[:, 1:] - logits[:, :1]).abs().min(1).values < 1e-5
    print(f"EVIDENCE for {equal.float().mean():.2f} of the samples the positive is among the negatives, loss {loss.item():.3f}")


main()

# Idea from zyxElsa/CAST_pytorch#16
# SPDX-License-Identifier: Apache-2.0
