"""The rate is looked for by a sweep on a copy of the model, as `lr_find` does, then training begins."""

import argparse
import copy
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()


def find_rate(model, loader, low, high, count):
    """Rates grow from batch to batch; taken is a fifth of the one with the least smooth loss."""
    trial = copy.deepcopy(model)
    optimizer = torch.optim.SGD(trial.parameters(), lr=low, momentum=0.9)
    smooth, best, found = None, math.inf, low
    batches = iter(loader)
    for number in range(count):
        rate = low * (high / low) ** (number / (count - 1))
        for group in optimizer.param_groups:
            group["lr"] = rate
        try:
            x, y = next(batches)
        except StopIteration:
            batches = iter(loader)
            x, y = next(batches)
        loss = nn.functional.cross_entropy(trial(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        smooth = loss.item() if smooth is None else 0.8 * smooth + 0.2 * loss.item()
        if smooth < best:
            best, found = smooth, rate
        if smooth > 3 * best or not math.isfinite(smooth):
            break
    print(f"sweep ended after {number + 1} batches, the best rate was {found:.5f}")
    return found / 5


torch.manual_seed(args.seed)
torch.set_num_threads(1)
x = torch.randn(640, 12)
y = (x @ torch.randn(12, 4)).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4))
rate = min(args.lr * 5, find_rate(model, loader, args.lr / 100, args.lr * 300, 30))
optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9, nesterov=True)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
step = 0
while step < args.steps:
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        step += 1
        if step == args.steps:
            break
    print(f"step {step}: loss {loss.item():.4f}, rate {scheduler.get_last_lr()[0]:.6f}")

# SPDX-License-Identifier: Apache-2.0
