"""Values after n steps from a small ring of memory, TD3-like: one deterministic policy, one critic, a lagging critic."""
import argparse
import copy

import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--steps", type=int, default=900)
parser.add_argument("--n-steps", type=int, default=4)
parser.add_argument("--buffer-size", type=int, default=40)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
N, SIZE, GAMMA, ENVS = args.n_steps, args.buffer_size, 0.9, 4


class SimpleReplayBuffer:
    """Environments share a pointer; when the ring is full, the oldest entries are overwritten."""

    def __init__(self):
        self.obs, self.next_obs = torch.zeros(ENVS, SIZE, 2), torch.zeros(ENVS, SIZE, 2)
        self.rewards, self.time = torch.zeros(ENVS, SIZE), torch.zeros(ENVS, SIZE, dtype=torch.long)
        self.ptr = 0

    def extend(self, obs, rewards, next_obs):
        at = self.ptr % SIZE
        self.obs[:, at], self.rewards[:, at], self.next_obs[:, at], self.time[:, at] = obs, rewards, next_obs, self.ptr
        self.ptr += 1

    def sample(self, batch_size):
        if self.ptr >= SIZE:
            current_pos = self.ptr % SIZE
            safe_size = SIZE
            indices = (current_pos + torch.randint(0, safe_size, (ENVS, batch_size))) % SIZE
        else:
            indices = torch.randint(0, max(1, self.ptr - N + 1), (ENVS, batch_size))
        window = (indices[..., None] + torch.arange(N)) % SIZE
        rows = torch.arange(ENVS)[:, None]
        rewards = self.rewards[rows[..., None], window] @ (GAMMA ** torch.arange(N).float())
        torn = (self.time[rows, window[..., -1]] - self.time[rows, window[..., 0]] != N - 1).sum().item()
        last = self.next_obs[rows, window[..., -1]]
        return self.obs[rows, indices].flatten(0, 1), rewards.flatten(), last.flatten(0, 1), torn


def advance(obs):
    """A point runs around the circle; what it earns depends on where it is, and its pace falls over a lap."""
    angle = torch.atan2(obs[:, 1], obs[:, 0]) + 0.35
    return torch.stack([angle.cos(), angle.sin()], 1), 1.0 + 2.0 * (obs[:, 0] > 0.5).float()


def true_values(obs):
    total, discount = torch.zeros(len(obs)), 1.0
    for _ in range(100):
        obs, reward = advance(obs)
        total, discount = total + discount * reward, discount * GAMMA
    return total


critic = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))
critic_target = copy.deepcopy(critic).requires_grad_(False)
optimizer = torch.optim.Adam(critic.parameters(), lr=args.lr)
buffer, torn, drawn = SimpleReplayBuffer(), 0, 0
start = 6.28 * torch.rand(ENVS)
obs = torch.stack([start.cos(), start.sin()], 1)
for global_step in range(args.steps):
    next_obs, rewards = advance(obs)
    buffer.extend(obs, rewards, next_obs)
    obs = next_obs
    if global_step < 10:
        continue
    observations, returns, last, bad = buffer.sample(32)
    torn, drawn = torn + bad, drawn + len(returns)
    with torch.no_grad():
        target = returns + GAMMA ** N * critic_target(last).squeeze(1)
    loss = nn.functional.mse_loss(critic(observations).squeeze(1), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for p, t in zip(critic.parameters(), critic_target.parameters()):
            t.lerp_(p, 0.05)
    if global_step % 200 == 199:
        print(f"global_step={global_step + 1} critic_loss={loss.item():.4f}")
angles = torch.linspace(0, 6.28, 100)
grid = torch.stack([angles.cos(), angles.sin()], 1)
with torch.no_grad():
    error = (critic(grid).squeeze(1) - true_values(grid)).abs().mean().item()
print(f"EVIDENCE {torn} of {drawn} windows were torn; last loss {loss.item():.4f}, error of values {error:.4f}")

# SPDX-License-Identifier: Apache-2.0
