"""A warm-up in front of a cosine schedule; training stops in the middle and goes on from a checkpoint."""

import argparse
import os
import tempfile

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=48)
args = parser.parse_args()
WARMUP = 8


class GradualWarmup:
    """The rate rises to its full value, then another schedule takes over."""

    def __init__(self, optimizer, steps, after):
        self.optimizer, self.steps, self.after, self.count = optimizer, steps, after, 0
        self.rates = [group["lr"] for group in optimizer.param_groups]
        self.set_rates(1 / steps)

    def set_rates(self, factor):
        for group, rate in zip(self.optimizer.param_groups, self.rates):
            group["lr"] = rate * factor

    def step(self):
        self.count += 1
        if self.count <= self.steps:
            self.set_rates(self.count / self.steps)
        else:
            self.after.step()

    def state_dict(self):
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state):
        self.__dict__.update(state)
        self.after.optimizer = self.optimizer


def build():
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    return model, optimizer, GradualWarmup(optimizer, WARMUP, CosineAnnealingLR(optimizer, args.steps - WARMUP))


def train(model, optimizer, scheduler, steps, rule):
    rates = []
    for _ in range(steps):
        x = torch.randn(64, 10)
        loss = nn.functional.cross_entropy(model(x), (x @ rule > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        rates.append(optimizer.param_groups[0]["lr"])
    print(f"loss {loss.item():.4f}, rate {rates[0]:.5f} to {rates[-1]:.5f}")
    return rates


torch.manual_seed(args.seed)
torch.set_num_threads(1)
rule = torch.randn(10)
model, optimizer, scheduler = build()
train(model, optimizer, scheduler, args.steps // 2, rule)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "checkpoint.pt")
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}, path)
    checkpoint = torch.load(path, weights_only=False)
model, optimizer, scheduler = build()
for part, state in zip((model, optimizer, scheduler), checkpoint.values()):
    part.load_state_dict(state)
rates = train(model, optimizer, scheduler, args.steps // 2, rule)
norm = sum(p.norm().item() for p in model.parameters())
print(f"EVIDENCE rate {rates[0]:.6f} after resuming, {rates[-1]:.6f} at the end, weights {norm:.4f}")

# SPDX-License-Identifier: Apache-2.0
