"""A recurrent network adds marked numbers; gradients are clipped by a function of our own."""

import argparse
import math

import torch
from torch import nn


def clip_gradients(parameters, max_norm):
    """Scale all gradients so that their common norm is at most max_norm; returns the norm before and after."""
    parameters = [p for p in parameters if p.grad is not None]
    total = 0.0
    for p in parameters:
        total += p.grad.data.norm(2).item() ** 2
    total = math.sqrt(total)
    coefficient = max_norm / (total + 1e-6)
    if coefficient < 1:
        for p in parameters:
            p.grad.data.mul_(coefficient)
    return total


class Adder(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.rnn = nn.GRU(2, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1]).squeeze(1)


def draw(batch, length, generator):
    numbers = torch.rand(batch, length, generator=generator)
    marks = torch.zeros(batch, length)
    first = torch.randint(length // 2, (batch,), generator=generator)
    second = torch.randint(length // 2, length, (batch,), generator=generator)
    marks[torch.arange(batch), first] = 1
    marks[torch.arange(batch), second] = 1
    return torch.stack([numbers, marks], 2), (numbers * marks).sum(1) * 4


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--steps", type=int, default=400)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(args.seed + 1)
    model = Adder()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    largest, valid = 0.0, draw(500, 10, generator)
    for step in range(1, args.steps + 1):
        x, y = draw(64, 10, generator)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        clip_gradients(model.parameters(), 0.25)
        largest = max(largest, sum(p.grad.pow(2).sum() for p in model.parameters()).sqrt().item())
        optimizer.step()
        if step % 50 == 0:
            with torch.no_grad():
                error = nn.functional.mse_loss(model(valid[0]), valid[1]).item()
            print(f"step {step}: loss {loss.item():.4f}, valid {error:.4f}")
    print(f"EVIDENCE the largest gradient after clipping to 0.25 had norm {largest:.4f}, error in the end {error:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
