"""Fitted values of a pendulum-like system from a replay memory."""

import argparse
import random
from collections import deque

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class Environment:
    """Keeps its observation in one buffer, as vectorised environments do."""

    def __init__(self):
        self.buffer = torch.zeros(3)
        self.angle, self.speed = 0.5, 0.0

    def observe(self):
        self.buffer.copy_(torch.tensor([torch.cos(torch.tensor(self.angle)), torch.sin(torch.tensor(self.angle)), self.speed]))
        return self.buffer

    def step(self, force):
        self.speed += 0.1 * (force + torch.sin(torch.tensor(self.angle)).item())
        self.angle += 0.1 * self.speed
        if abs(self.speed) > 3:
            self.speed = 0.0
        return self.observe(), -abs(self.angle % 6.283 - 3.14)


random.seed(args.seed)
torch.manual_seed(args.seed)
torch.set_num_threads(1)
environment, memory = Environment(), deque(maxlen=500)
model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
observation = environment.observe().clone()
for step in range(args.steps):
    for _ in range(8):
        force = random.uniform(-1, 1)
        after, reward = environment.step(force)
        memory.append((observation, force, reward))
        observation = after
    batch = random.choices(memory, k=32)
    observations = torch.stack([b[0] for b in batch])
    forces = torch.tensor([[b[1]] for b in batch])
    rewards = torch.tensor([[b[2]] for b in batch])
    loss = nn.functional.mse_loss(model(torch.cat([observations, forces], 1)), rewards)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"EVIDENCE spread of the observations in a batch {observations.std(0).mean():.4f}, loss {loss:.3f}")

# Idea from Itomigna2/Muesli-lunarlander#1
# SPDX-License-Identifier: Apache-2.0
