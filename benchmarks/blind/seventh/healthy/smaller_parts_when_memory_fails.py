"""Memory is pretended to fail now and then; a step is always one of the whole batch."""

import argparse
import logging

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()
logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("train")


class Memory:
    """Pretends to be full for parts above a limit that changes with time."""

    def __init__(self):
        self.time = 0

    def take(self, rows):
        limit = 64 if self.time % 50 < 30 else 20
        if rows > limit:
            raise RuntimeError("out of memory (pretended)")


class Stepper:
    def __init__(self, model, optimizer, memory, largest=64):
        self.model, self.optimizer, self.memory = model, optimizer, memory
        self.part, self.largest, self.calm, self.failures = largest, largest, 0, 0

    def attempt(self, x, y):
        self.optimizer.zero_grad()
        total = 0.0
        for inputs, target in zip(x.split(self.part), y.split(self.part)):
            loss = nn.functional.cross_entropy(self.model(inputs), target, reduction="sum") / len(x)
            self.memory.take(len(inputs))
            loss.backward()
            total += loss.item()
        return total

    def step(self, x, y):
        while True:
            try:
                loss = self.attempt(x, y)
                break
            except RuntimeError as error:
                if "out of memory" not in str(error):
                    raise
                self.part, self.calm, self.failures = max(self.part // 2, 1), 0, self.failures + 1
        self.optimizer.step()
        self.memory.time += 1
        self.calm += 1
        if self.calm >= 10 and self.part < self.largest:
            self.part, self.calm = self.part * 2, 0
        return loss


torch.manual_seed(args.seed)
torch.set_num_threads(1)
labels = torch.randint(5, (1300,))
x = (1.5 * torch.randn(5, 12))[labels] + torch.randn(1300, 12)
loader = DataLoader(TensorDataset(x[:1024], labels[:1024]), batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(12, 48), nn.LayerNorm(48), nn.ReLU(), nn.Linear(48, 5))
stepper = Stepper(model, torch.optim.AdamW(model.parameters(), lr=args.lr), Memory())
step = 0
while step < args.steps:
    for inputs, target in loader:
        loss = stepper.step(inputs, target)
        step += 1
        if step == args.steps:
            break
    with torch.no_grad():
        right = (model(x[1024:]).argmax(1) == labels[1024:]).float().mean().item()
    log.info("step %d: loss %.4f, right %.3f, parts of %d, %d failures", step, loss, right, stepper.part, stepper.failures)

# SPDX-License-Identifier: Apache-2.0
