"""Q-learning as in many repositories: learning starts late, happens now and then, the target is copied at intervals."""

import argparse
import random

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=200)
args = parser.parse_args()


class GridWorld:
    def reset(self):
        self.pos = [random.randrange(5), random.randrange(5)]
        self.t = 0
        return self.observe()

    def observe(self):
        return torch.tensor([self.pos[0] / 4, self.pos[1] / 4, self.t / 20])

    def step(self, action):
        axis, sign = divmod(action, 2)
        self.pos[axis] = min(4, max(0, self.pos[axis] + (1 if sign else -1)))
        self.t += 1
        terminated = self.pos == [4, 4]
        return self.observe(), 1.0 if terminated else -0.05, terminated, self.t >= 20


class ReplayBuffer:
    def __init__(self, size=400):
        self.obs, self.next_obs = torch.zeros(size, 3), torch.zeros(size, 3)
        self.actions, self.rewards, self.dones = torch.zeros(size, dtype=torch.long), torch.zeros(size), torch.zeros(size)
        self.size, self.at, self.full = size, 0, False

    def add(self, obs, next_obs, action, reward, done):
        i = self.at
        self.obs[i], self.next_obs[i], self.actions[i], self.rewards[i], self.dones[i] = obs, next_obs, action, reward, done
        self.at = (i + 1) % self.size
        self.full = self.full or self.at == 0

    def sample(self, n):
        i = torch.randint(0, self.size if self.full else self.at, (n,))
        return self.obs[i], self.next_obs[i], self.actions[i], self.rewards[i], self.dones[i]


random.seed(args.seed)
torch.manual_seed(args.seed)
torch.set_num_threads(1)


def q_network():
    return nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 4))


q, target = q_network(), q_network()
target.load_state_dict(q.state_dict())
optimizer = torch.optim.Adam(q.parameters(), lr=args.lr)
environment, buffer, updates, reached = GridWorld(), ReplayBuffer(), 0, 0
obs = environment.reset()
for step in range(args.steps):
    epsilon = max(0.1, 1 - step / (0.6 * args.steps))
    if random.random() < epsilon:
        action = random.randrange(4)
    else:
        with torch.no_grad():
            action = q(obs).argmax().item()
    next_obs, reward, terminated, truncated = environment.step(action)
    buffer.add(obs, next_obs, action, reward, float(terminated))
    reached += terminated
    obs = environment.reset() if terminated or truncated else next_obs
    if step > 40 and step % 4 == 0:
        b_obs, b_next, b_action, b_reward, b_done = buffer.sample(32)
        with torch.no_grad():
            best = target(b_next).max(1).values
            goal = b_reward + 0.95 * best * (1 - b_done)
        value = q(b_obs).gather(1, b_action[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(value, goal)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(q.parameters(), 1.0)
        optimizer.step()
        updates += 1
        if updates % 10 == 0:
            target.load_state_dict(q.state_dict())
print(f"{updates} updates, {reached} goals, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
