"""Momentum contrast with labels: a queue of old keys without gradient, whose rows of the same class are masked out of the negatives."""
import argparse
import copy

import torch
import torch.nn.functional as F
from torch import nn

DIM, CLASSES, QUEUE = 20, 6, 96


class Encoder(nn.Sequential):
    def __init__(self, width=48, out=16):
        super().__init__(nn.Linear(DIM, width), nn.ReLU(), nn.Linear(width, out))

    def forward(self, x):
        return F.normalize(super().forward(x), dim=-1)


def views(gen, n=32):
    centres = torch.randn(CLASSES, DIM, generator=torch.Generator().manual_seed(4))
    label = torch.randint(0, CLASSES, (n,), generator=gen)
    base = centres[label] + 0.6 * torch.randn(n, DIM, generator=gen)
    return base + 0.2 * torch.randn(n, DIM, generator=gen), base + 0.2 * torch.randn(n, DIM, generator=gen), label


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    query_encoder = Encoder()
    key_encoder = copy.deepcopy(query_encoder).requires_grad_(False)
    queue, marks = F.normalize(torch.randn(QUEUE, 16), dim=-1), torch.full((QUEUE,), -1)
    optimizer = torch.optim.AdamW(query_encoder.parameters(), lr=args.lr)
    gen = torch.Generator().manual_seed(args.seed + 7)
    for step in range(args.steps):
        first, second, label = views(gen)
        q = query_encoder(first)
        with torch.no_grad():
            k = key_encoder(second)
        positive = (q * k).sum(-1, keepdim=True)
        negative = (q @ queue.T).masked_fill(label[:, None] == marks[None], float("-inf"))
        logits = torch.cat([positive, negative], 1) / 0.1
        loss = F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))   # the positive is always the first
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for old, new in zip(key_encoder.parameters(), query_encoder.parameters()):
                old.lerp_(new, 0.05)
        queue, marks = torch.cat([k, queue])[:QUEUE], torch.cat([label, marks])[:QUEUE]
        if (step + 1) % 10 == 0:
            print(f"step {step + 1} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
