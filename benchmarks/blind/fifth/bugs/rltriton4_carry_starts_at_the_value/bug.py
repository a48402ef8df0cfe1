"""Advantage actor-critic with generalised advantages over windows of an endless task: a light is to be followed."""

import argparse

import torch
from torch import nn
from torch.distributions import Categorical

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()
AGENTS, WINDOW, GAMMA, LAMBDA, PLACES = 16, 16, 0.95, 0.95, 6


class Agent(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(2 * PLACES, width), nn.Tanh())
        self.policy, self.value = nn.Linear(width, 3), nn.Linear(width, 1)

    def forward(self, state):
        hidden = self.trunk(state)
        return Categorical(logits=self.policy(hidden)), self.value(hidden).squeeze(-1)


class Light:
    def __init__(self):
        self.own, self.light = torch.randint(PLACES, (AGENTS,)), torch.randint(PLACES, (AGENTS,))

    def observe(self):
        return torch.cat([nn.functional.one_hot(self.own, PLACES), nn.functional.one_hot(self.light, PLACES)], 1).float()

    def step(self, action):
        self.own = (self.own + action - 1).clamp(0, PLACES - 1)
        reward = (self.own == self.light).float()
        jump = torch.rand(AGENTS) < 0.1
        self.light = torch.where(jump, torch.randint(PLACES, (AGENTS,)), self.light)
        return reward


def advantages(rewards, values, last_value):
    following = torch.cat([values[1:], last_value[None]])
    deltas = rewards + GAMMA * following - values
    carry = last_value
    result = torch.empty_like(rewards)
    for t in range(WINDOW - 1, -1, -1):
        carry = deltas[t] + GAMMA * LAMBDA * carry
        result[t] = carry
    return result


torch.manual_seed(args.seed)
torch.set_num_threads(1)
agent, world = Agent(), Light()
optimizer = torch.optim.RMSprop(agent.parameters(), lr=args.lr, alpha=0.95)
for step in range(args.steps):
    rows = []
    for _ in range(WINDOW):
        policy, value = agent(world.observe())
        action = policy.sample()
        reward = world.step(action)
        rows.append((policy.log_prob(action), policy.entropy(), value, reward))
    logp, entropy, values, rewards = map(torch.stack, zip(*rows))
    with torch.no_grad():
        last_value = agent(world.observe())[1]
        advantage = advantages(rewards, values.detach(), last_value)
        returns = advantage + values
    loss = -(logp * advantage).mean() + 0.5 * (values - returns).square().mean() - 0.01 * entropy.mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
    optimizer.step()
    if step % 30 == 29:
        print(f"step {step}: reward {rewards.mean().item():.3f}, value {values.mean().item():.3f}")
print(f"EVIDENCE values are {values.mean().item():.2f} where rewards allow at most {1 / (1 - GAMMA):.1f}; "
      f"the last reward is {rewards.mean().item():.3f}")

# SPDX-License-Identifier: Apache-2.0
