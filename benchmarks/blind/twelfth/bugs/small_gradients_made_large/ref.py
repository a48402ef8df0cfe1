"""A recurrent network takes the mean of a sequence of numbers; gradients are clipped by hand."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn


class MeanNet(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.rnn = nn.GRU(2, width, batch_first=True)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1]).squeeze(1)


def make_batch(size, generator, length=14):
    numbers = torch.rand(size, length, generator=generator)
    marks = torch.zeros(size, length)
    marks.scatter_(1, torch.rand(size, length, generator=generator).argsort(1)[:, :2], 1.0)
    return torch.stack([numbers, marks], 2), 3 * numbers.mean(1) + 0.5 * numbers[:, -1] * marks[:, -1]


def clip_gradients(parameters, limit):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.stack([g.norm() for g in gradients]).norm().item()
    factor = min(1.0, limit / (norm + 1e-6))
    for g in gradients:
        g.mul_(factor)
    return norm, norm * factor


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--steps", type=int, default=400)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    model = MeanNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    least, losses = float("inf"), []
    for step in range(args.steps):
        x, y = make_batch(32, generator)
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        norm, used = clip_gradients(list(model.parameters()), 1.0)
        optimizer.step()
        least = min(least, used)
        losses.append(loss.item())
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.4f}, norm {norm:.4f}")
    print(f"EVIDENCE least norm that was used {least:.4f}, mean of the last losses {sum(losses[-50:]) / 50:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
