"""A recurrent network adds numbers that are marked; now and then a batch has wild targets."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--steps", type=int, default=300)
args = parser.parse_args()
LIMIT = 0.5


class Adder(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.cell, self.head = nn.GRU(2, width, batch_first=True), nn.Linear(width, 1)

    def forward(self, x):
        return self.head(self.cell(x)[0][:, -1]).squeeze(1)


def batch(count, wild=0.0):
    values, marks = torch.rand(count, 12), torch.zeros(count, 12)
    marks.scatter_(1, torch.rand(count, 12).topk(2, dim=1).indices, 1.0)
    target = (values * marks).sum(1)
    target = torch.where(torch.rand(count) < wild, 10 * target, target)
    return torch.stack([values, marks], dim=2), target


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Adder()
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
valid, largest = batch(300), 0.0
for step in range(1, args.steps + 1):
    x, target = batch(40, wild=0.002)
    loss = nn.functional.mse_loss(model(x), target)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), LIMIT)
    norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm().item()
    largest = max(largest, norm)
    optimizer.step()
    if step % 60 == 0:
        with torch.no_grad():
            error = nn.functional.mse_loss(model(valid[0]), valid[1]).item()
        print(f"step {step}: loss {loss.item():.4f}, error {error:.4f}, norm {norm:.3f}")
print(f"EVIDENCE the largest norm of a step was {largest:.4f}, the error is {error:.4f}")

# SPDX-License-Identifier: Apache-2.0
