"""Q-learning with returns over three steps from a replay memory; an agent walks to a goal in a corridor."""

import argparse
import copy
from collections import deque

import numpy as np
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--steps", type=int, default=1000)
args = parser.parse_args()
LENGTH, GAMMA, AHEAD, BATCH = 10, 0.9, 3, 64


class Corridor:
    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.place = int(self.rng.integers(LENGTH - 1))
        return self.observe()

    def observe(self):
        return np.eye(LENGTH, dtype=np.float32)[self.place]

    def step(self, action):
        if self.rng.random() < 0.9:
            self.place = min(max(self.place + (1 if action else -1), 0), LENGTH - 1)
        end = self.place == LENGTH - 1
        return self.observe(), float(end), end


class Memory:
    """Sums the rewards of some steps before it stores a transition."""

    def __init__(self):
        self.items, self.recent = deque(maxlen=5000), deque()

    def add(self, state, action, reward, after, end):
        self.recent.append((state, action, reward))
        if len(self.recent) == AHEAD or end:
            while self.recent:
                total = sum(GAMMA ** i * r for i, (_, _, r) in enumerate(self.recent))
                first = self.recent.popleft()
                self.items.append((first[0], first[1], total, after, float(end)))
                if not end:
                    break

    def sample(self, rng):
        chosen = [self.items[i] for i in rng.integers(len(self.items), size=BATCH)]
        return [torch.from_numpy(np.array(column, dtype=np.float32)) for column in zip(*chosen)]


torch.manual_seed(args.seed)
torch.set_num_threads(1)
rng = np.random.default_rng(args.seed)
q = nn.Sequential(nn.Linear(LENGTH, 48), nn.ReLU(), nn.Linear(48, 2))
q_target = copy.deepcopy(q).requires_grad_(False)
optimizer = torch.optim.Adam(q.parameters(), lr=args.lr)
env, memory = Corridor(rng), Memory()
state = env.reset()
for step in range(args.steps):
    if rng.random() < 0.3:
        action = int(rng.integers(2))
    else:
        with torch.no_grad():
            action = int(q(torch.from_numpy(state)).argmax())
    after, reward, end = env.step(action)
    memory.add(state, action, reward, after, end)
    state = env.reset() if end else after
    if step < 100:
        continue
    states, actions, rewards, afters, ends = memory.sample(rng)
    with torch.no_grad():
        goal = rewards + GAMMA ** AHEAD * (1 - ends) * q_target(afters).amax(1)
    value = q(states).gather(1, actions.long()[:, None]).squeeze(1)
    loss = nn.functional.mse_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(q_target.parameters(), q.parameters()):
            slow.lerp_(fast, 0.02)
    if step % 200 == 199:
        print(f"step {step}: loss {loss.item():.5f}")
with torch.no_grad():
    values = q(torch.eye(LENGTH)[:-1]).amax(1)
print(f"EVIDENCE values of the cells: {[round(v, 2) for v in values.tolist()]}")

# SPDX-License-Identifier: Apache-2.0
