"""Two views are contrasted with a queue of keys from a slow encoder."""
import argparse
import copy

import torch
import torch.nn.functional as F
from torch import nn

QUEUE, BATCH, TEMPERATURE = 512, 64, 0.2


def view(x, generator):
    keep = (torch.rand(x.shape, generator=generator) > 0.2).float()
    return x * keep + 0.3 * torch.randn(x.shape, generator=generator)


def enqueue(queue, rows, pointer):
    queue[pointer:pointer + len(rows)] = rows
    return (pointer + len(rows)) % QUEUE


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    data = torch.randn(2000, 6, generator=generator) @ torch.randn(6, 40, generator=generator) / 2
    encoder = nn.Sequential(nn.Linear(40, 96), nn.ReLU(), nn.Linear(96, 24))
    slow = copy.deepcopy(encoder).requires_grad_(False)
    queue = F.normalize(torch.randn(QUEUE, 24, generator=generator), dim=1)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=args.lr)
    pointer = 0
    for step in range(args.steps):
        x = data[torch.randint(0, 1700, (BATCH,), generator=generator)]
        queries = F.normalize(encoder(view(x, generator)), dim=1)
        with torch.no_grad():
            keys = F.normalize(slow(view(x, generator)), dim=1)
        positive = (queries * keys).sum(1, keepdim=True)
        negative = queries @ queue.t()
        logits = torch.cat([positive, negative], 1) / TEMPERATURE
        loss = F.cross_entropy(logits, torch.zeros(BATCH, dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            pointer = enqueue(queue, queries.detach(), pointer)
            for p, q in zip(slow.parameters(), encoder.parameters()):
                p.lerp_(q, 0.005)
        if step % 60 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    with torch.no_grad():
        x = data[1700:]
        a, b = (F.normalize(encoder(view(x, generator)), dim=1) for _ in range(2))
        found = ((a @ b.t()).argmax(1) == torch.arange(len(x))).float().mean()
        age = (queue @ F.normalize(slow(data), dim=1).t()).max(1).values.mean()
    print(f"EVIDENCE loss {loss.item():.4f}, own pair found in {found:.4f}, queue is {age:.4f} like keys")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
