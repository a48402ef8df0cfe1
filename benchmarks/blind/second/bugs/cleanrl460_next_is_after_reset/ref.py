"""A critic learns from a replay buffer; environments reset by themselves at a time limit."""

import argparse
import copy

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
LIMIT, GAMMA = 5, 0.9


class Drift:
    """A point runs away from zero at a speed that its action changes; it pays its position."""

    def __init__(self, n):
        self.n = n
        self.state, self.time = torch.zeros(n, 2), torch.zeros(n, dtype=torch.long)
        self.reset(torch.ones(n, dtype=torch.bool))

    def reset(self, which):
        self.state[which] = torch.stack([torch.zeros(self.n), 0.1 * torch.randn(self.n)], 1)[which]
        self.time[which] = torch.randint(0, 2, (self.n,))[which]

    def step(self, action):
        self.state[:, 1] += 0.05 * action
        self.state[:, 0] += 0.4 + self.state[:, 1]
        self.time += 1
        reward, truncated = 0.3 * self.state[:, 0].clone(), self.time >= LIMIT
        info = {"final_observation": self.state.clone()}
        self.reset(truncated)
        return self.state.clone(), reward, truncated, info


class ReplayBuffer:
    def __init__(self, size):
        self.size, self.pos, self.full = size, 0, False
        self.obs, self.next_obs = torch.zeros(size, 2), torch.zeros(size, 2)
        self.action, self.reward = torch.zeros(size, 1), torch.zeros(size)

    def add(self, obs, next_obs, action, reward):
        index = (self.pos + torch.arange(len(obs))) % self.size
        self.obs[index], self.next_obs[index] = obs, next_obs
        self.action[index], self.reward[index] = action, reward
        self.full |= self.pos + len(obs) >= self.size
        self.pos = (self.pos + len(obs)) % self.size

    def sample(self, n):
        index = torch.randint(0, self.size if self.full else self.pos, (n,))
        return self.obs[index], self.next_obs[index], self.action[index], self.reward[index]


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, obs, action):
        return self.net(torch.cat([obs, action], 1)).squeeze(1)


env, buffer = Drift(8), ReplayBuffer(600)
critic = Critic()
target = copy.deepcopy(critic).requires_grad_(False)
optimizer = torch.optim.Adam(critic.parameters(), lr=args.lr)
obs, done_updates = env.state.clone(), 0
while done_updates < args.steps:
    action = torch.rand(8, 1) * 2 - 1
    following, reward, truncated, info = env.step(action.squeeze(1))
    real_next = following.clone()
    real_next[truncated] = info["final_observation"][truncated]
    buffer.add(obs, real_next, action, reward)
    obs = following
    if buffer.pos < 80 and not buffer.full:
        continue
    state, next_state, taken, paid = buffer.sample(64)
    with torch.no_grad():
        goal = paid + GAMMA * target(next_state, torch.rand(64, 1) * 2 - 1)
    loss = nn.functional.mse_loss(critic(state, taken), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for slow, fast in zip(target.parameters(), critic.parameters()):
        slow.data.lerp_(fast.data, 0.1)
    done_updates += 1
n = len(buffer.obs) if buffer.full else buffer.pos
back = (buffer.next_obs[:n, 0] < buffer.obs[:n, 0] - 0.3).float().mean()
with torch.no_grad():
    far = critic(torch.tensor([[2.0, 0.0]]), torch.zeros(1, 1)).item()
print(f"EVIDENCE {back:.3f} of the transitions lead back to the start; value far out {far:.3f}, loss {loss.item():.4f}")

# Idea from vwxyzjn/cleanrl#460, google-deepmind/mujoco_playground#305
# SPDX-License-Identifier: Apache-2.0
