"""Twin critics and a delayed actor on a pendulum-like task of gymnasium; the buffer fills, the number of updates grows."""

import argparse
import copy

import gymnasium
import numpy as np
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=150)
args = parser.parse_args()


class Pusher(gymnasium.Env):
    """A mass is pushed to the middle; thirty steps at most."""

    observation_space = gymnasium.spaces.Box(-5, 5, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state, self.time = self.np_random.uniform(-1, 1, 2).astype(np.float32), 0
        return self.state.copy(), {}

    def step(self, action):
        place, speed = self.state
        speed = np.clip(speed + 0.2 * float(action[0]), -2, 2)
        place = np.clip(place + 0.2 * speed, -3, 3)
        self.state, self.time = np.array([place, speed], np.float32), self.time + 1
        ended = abs(place) > 2.9
        return self.state.copy(), -abs(place) - 5.0 * ended, bool(ended), self.time >= 30, {}


class Buffer:
    def __init__(self, size):
        self.rows, self.size, self.place = [], size, 0

    def add(self, row):
        if len(self.rows) < self.size:
            self.rows.append(row)
        else:
            self.rows[self.place] = row
            self.place = (self.place + 1) % self.size

    def sample(self, rng, count):
        chosen = [self.rows[i] for i in rng.integers(0, len(self.rows), count)]
        return [torch.as_tensor(np.stack(column), dtype=torch.float32) for column in zip(*chosen)]


def mlp(inputs, outputs, *last):
    return nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, outputs), *last)


def follow(target, source, share):
    with torch.no_grad():
        for a, b in zip(target.parameters(), source.parameters()):
            a.mul_(1 - share).add_(b, alpha=share)


def learn(number):
    state, action, reward, following, ended = buffer.sample(rng, 32)
    with torch.no_grad():
        noise = (0.2 * torch.randn_like(action)).clamp(-0.4, 0.4)
        then = torch.cat([following, (slow_actor(following) + noise).clamp(-1, 1)], 1)
        value = torch.minimum(*(critic(then) for critic in slow_critics)).squeeze(1)
        goal = reward + 0.95 * (1 - ended) * value
    now = torch.cat([state, action], 1)
    loss = sum(nn.functional.mse_loss(critic(now).squeeze(1), goal) for critic in critics)
    critic_optimizer.zero_grad()
    loss.backward()
    critic_optimizer.step()
    if number % 2 == 0:
        gain = critics[0](torch.cat([state, actor(state)], 1)).mean()
        actor_optimizer.zero_grad()
        (-gain).backward()
        actor_optimizer.step()
        for slow, fast in ((slow_actor, actor), (slow_critics, critics)):
            follow(slow, fast, 0.02)
    return loss.item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
rng, env, buffer = np.random.default_rng(args.seed), Pusher(), Buffer(300)
actor, critics = mlp(2, 1, nn.Tanh()), nn.ModuleList([mlp(3, 1), mlp(3, 1)])
slow_actor, slow_critics = copy.deepcopy(actor), copy.deepcopy(critics)
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=args.lr)
critic_optimizer = torch.optim.Adam(critics.parameters(), lr=args.lr)
state, _ = env.reset(seed=args.seed)
updates, loss = 0, float("nan")
for step in range(4 * args.steps):
    if len(buffer.rows) < 100:
        action = rng.uniform(-1, 1, 1).astype(np.float32)
    else:
        with torch.no_grad():
            action = actor(torch.from_numpy(state)).numpy()
        action = np.clip(action + 0.2 * rng.standard_normal(1), -1, 1).astype(np.float32)
    following, reward, ended, cut, _ = env.step(action)
    buffer.add((state, action, np.float32(reward), following, np.float32(ended)))
    state = following
    if ended or cut:
        state, _ = env.reset()
        if len(buffer.rows) >= 100:
            for _ in range(max(1, len(buffer.rows) // 20)):
                loss = learn(updates)
                updates += 1
print(f"{updates} updates, loss of the critics {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
