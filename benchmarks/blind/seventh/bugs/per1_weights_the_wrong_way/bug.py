"""Values of states with rewards by chance are learned from a memory that draws large errors more often."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=200)
args = parser.parse_args()


class Memory:
    def __init__(self, states, returns, alpha=0.7, beta=0.9):
        self.states, self.returns, self.alpha, self.beta = states, returns, alpha, beta
        self.priorities = torch.ones(len(states))

    def draw(self, count):
        share = self.priorities ** self.alpha
        share = share / share.sum()
        rows = torch.multinomial(share, count, replacement=True)
        weights = (len(self.states) * share[rows]) ** self.beta
        return rows, self.states[rows], self.returns[rows], weights / weights.max()

    def update(self, rows, errors):
        self.priorities[rows] = errors.abs() + 0.05


torch.manual_seed(args.seed)
torch.set_num_threads(1)
states = torch.rand(600, 2) * 2 - 1
value = states[:, 0] * 2 + states[:, 1].square()
returns = value + torch.where(torch.rand(600) < 0.1, 8.0, -8 / 9)
memory = Memory(states, returns)
critic = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(critic.parameters(), lr=args.lr)
for step in range(1, args.steps + 1):
    rows, s, g, weights = memory.draw(64)
    error = g - critic(s).squeeze(1)
    loss = (weights * error.square()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    memory.update(rows, error.detach())
    if step % 50 == 0:
        with torch.no_grad():
            shift = (critic(states).squeeze(1) - value).mean().item()
        print(f"step {step}: loss {loss.item():.4f}, mean error of the values {shift:.4f}")
print(f"EVIDENCE values are {shift:.4f} too high on average")

# SPDX-License-Identifier: Apache-2.0
