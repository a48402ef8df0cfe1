"""Clipped policy gradients with eight worlds at a time: a dot is to be steered to the middle of a line."""
import argparse

import torch
from torch import nn
from torch.distributions import Categorical

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=240, help="optimizer steps")
args = parser.parse_args()
ENVS, HORIZON, GAMMA, LAM = 8, 32, 0.95, 0.9


class LineWorlds:
    """A position and a wind; three actions push left, not at all, or right."""

    def __init__(self, count):
        self.count = count
        self.position = torch.empty(count).uniform_(-2, 2)
        self.wind = torch.empty(count).uniform_(-0.1, 0.1)
        self.age = torch.randint(0, 20, (count,))

    def observe(self):
        return torch.stack([self.position, self.wind * 5], 1)

    def step(self, action):
        self.position = self.position + 0.3 * (action - 1) + self.wind
        reward = -self.position.abs()
        self.age += 1
        done = (self.age >= 20) | (self.position.abs() > 4)
        fresh = torch.empty(self.count).uniform_(-2, 2)
        self.position = torch.where(done, fresh, self.position)
        self.wind = torch.where(done, torch.empty(self.count).uniform_(-0.1, 0.1), self.wind)
        self.age = torch.where(done, torch.zeros_like(self.age), self.age)
        return self.observe(), reward, done.float()


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 3))
        self.critic = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, obs):
        return Categorical(logits=self.actor(obs)), self.critic(obs).squeeze(-1)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
worlds, model = LineWorlds(ENVS), ActorCritic()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
obs, step, history = worlds.observe(), 0, []
while step < args.steps:
    rollout = {name: [] for name in ("obs", "action", "logp", "value", "reward", "done")}
    with torch.no_grad():
        for _ in range(HORIZON):
            policy, value = model(obs)
            action = policy.sample()
            after, reward, done = worlds.step(action)
            for name, item in zip(rollout, (obs, action, policy.log_prob(action), value, reward, done)):
                rollout[name].append(item)
            obs = after
        last_value = model(obs)[1]
    data = {name: torch.stack(items) for name, items in rollout.items()}
    advantages, running = torch.zeros(HORIZON, ENVS), torch.zeros(ENVS)
    for t in reversed(range(HORIZON)):
        following = last_value if t == HORIZON - 1 else data["value"][t + 1]
        alive = 1 - data["done"][t]
        delta = data["reward"][t] + GAMMA * following * alive - data["value"][t]
        running = delta + GAMMA * LAM * alive * running
        advantages[t] = running
    returns = (advantages + data["value"]).flatten()
    advantages = advantages.flatten()
    flat = {name: data[name].flatten(0, 1) for name in ("obs", "action", "logp")}
    history.append(data["reward"].mean().item())
    for _ in range(3):
        for rows in torch.randperm(ENVS * HORIZON).split(64):
            policy, value = model(flat["obs"][rows])
            advantage = advantages[rows]
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            ratio = (policy.log_prob(flat["action"][rows]) - flat["logp"][rows]).exp()
            surrogate = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
            loss = -surrogate + 0.5 * (value - returns[rows]).pow(2).mean() - 0.005 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            step += 1
    if len(history) % 5 == 0:
        print(f"step {step}: mean reward {history[-1]:.4f}, loss {loss.item():.4f}")
print(f"EVIDENCE mean reward of the last rollouts {sum(history[-4:]) / 4:.4f}")

# SPDX-License-Identifier: Apache-2.0
