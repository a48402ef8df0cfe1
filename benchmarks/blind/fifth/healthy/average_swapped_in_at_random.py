"""Averaged weights are swapped in for an evaluation that comes at random steps, and out again afterwards."""

import argparse
import contextlib
import random

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=150)
args = parser.parse_args()


class Average:
    def __init__(self, model, decay):
        self.model, self.decay = model, decay
        self.values = {name: value.clone() for name, value in model.state_dict().items()}

    @torch.no_grad()
    def update(self):
        for name, value in self.model.state_dict().items():
            if value.is_floating_point():
                self.values[name].mul_(self.decay).add_(value, alpha=1 - self.decay)
            else:
                self.values[name].copy_(value)

    @contextlib.contextmanager
    def swapped_in(self):
        own = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.model.load_state_dict(self.values)
        try:
            yield
        finally:
            self.model.load_state_dict(own)


def samples(count):
    x = torch.randn(count, 2)
    return x, (x[:, 0] * x[:, 1] > 0).long()


random.seed(args.seed)
torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(2, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 48), nn.BatchNorm1d(48), nn.ReLU(),
                      nn.Linear(48, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
average = Average(model, 0.95)
held_out = samples(800)
next_evaluation = random.randint(5, 40)
for step in range(1, args.steps + 1):
    x, label = samples(32)
    loss = nn.functional.cross_entropy(model(x), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 2 == 0:
        average.update()
    if step == next_evaluation or step == args.steps:
        next_evaluation += random.randint(5, 60)
        model.eval()
        with average.swapped_in(), torch.no_grad():
            right = (model(held_out[0]).argmax(1) == held_out[1]).float().mean().item()
        model.train()
        print(f"step {step}: loss {loss.item():.3f}, the average is right in {right:.3f}")

# SPDX-License-Identifier: Apache-2.0
