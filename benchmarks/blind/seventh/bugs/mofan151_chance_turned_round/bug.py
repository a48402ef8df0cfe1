"""A value network learns to walk to the end of a corridor; exploration decreases."""

import argparse
import random

import torch
from torch import nn

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.005), ("--steps", int, 300)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()
CELLS = 6


class Corridor:
    def reset(self):
        self.at, self.time = 0, 0
        return self.at

    def step(self, action):
        self.at = min(max(self.at + (1 if action == 1 else -1), 0), CELLS - 1)
        self.time += 1
        won = self.at == CELLS - 1
        return self.at, 1.0 if won else -0.05, won, self.time >= 25


def one_hot(cells):
    return nn.functional.one_hot(torch.as_tensor(cells), CELLS).float()


class Agent:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(CELLS, 32), nn.ReLU(), nn.Linear(32, 2))
        self.epsilon, self.random_actions = 1.0, 0

    def act(self, cell):
        if random.random() > self.epsilon:
            self.random_actions += 1
            return random.randrange(2)
        with torch.no_grad():
            return self.net(one_hot(cell)).argmax().item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
random.seed(args.seed)
world, agent = Corridor(), Agent()
optimizer = torch.optim.Adam(agent.net.parameters(), lr=args.lr)
memory, cell, won, late, length = [], world.reset(), 0, 0, 0
for step in range(1, args.steps + 1):
    agent.epsilon = max(0.05, 1 - 2 * step / args.steps)
    agent.random_actions = agent.random_actions if step != args.steps // 2 else 0
    action = agent.act(cell)
    following, reward, end, cut = world.step(action)
    memory.append((cell, action, reward, following, float(end)))
    won += int(end and step > args.steps // 2)
    cell = world.reset() if end or cut else following
    if len(memory) < 32:
        continue
    s, a, r, n, d = map(torch.tensor, zip(*random.sample(memory, 32)))
    with torch.no_grad():
        target = r + 0.9 * (1 - d) * agent.net(one_hot(n)).max(1).values
    loss = nn.functional.smooth_l1_loss(agent.net(one_hot(s)).gather(1, a[:, None]).squeeze(1), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 0:
        print(f"step {step}: loss {loss.item():.5f}, epsilon {agent.epsilon:.2f}")
print(f"EVIDENCE in the second half {agent.random_actions} actions were random and the end was reached {won} times")

# SPDX-License-Identifier: Apache-2.0
