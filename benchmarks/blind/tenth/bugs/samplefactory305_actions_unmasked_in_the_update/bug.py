"""Proximal policy optimisation on a small grid in which some moves are forbidden and masked."""

import argparse

import torch
from torch import nn
from torch.distributions import Categorical

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=160)
args = parser.parse_args()
SIZE, ENVS, HORIZON, ACTIONS = 5, 16, 20, 8


class Grid:
    """Moves by one or two fields; a move over the border is not allowed. The goal is a corner, each move costs."""

    moves = torch.tensor([[0, 1], [1, 0], [0, -1], [-1, 0], [0, 2], [2, 0], [0, -2], [-2, 0]])

    def __init__(self):
        self.place = torch.randint(SIZE, (ENVS, 2))

    def allowed(self):
        target = self.place[:, None] + self.moves
        return ((target >= 0) & (target < SIZE)).all(2)

    def observe(self):
        return torch.cat([nn.functional.one_hot(self.place[:, 0], SIZE), nn.functional.one_hot(self.place[:, 1], SIZE)], 1).float()

    def step(self, actions):
        self.place = self.place + self.moves[actions]
        done = (self.place == SIZE - 1).all(1)
        reward = torch.where(done, 1.0, -0.1)
        self.place[done] = torch.randint(SIZE - 1, (int(done.sum()), 2))
        return reward, done.float()


class Agent(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(2 * SIZE, width), nn.Tanh(), nn.Linear(width, ACTIONS))
        self.critic = nn.Sequential(nn.Linear(2 * SIZE, width), nn.Tanh(), nn.Linear(width, 1))

    def policy(self, observation, allowed=None):
        logits = self.actor(observation)
        if allowed is not None:
            logits = logits.masked_fill(~allowed, -1e9)
        return Categorical(logits=logits)

    def value(self, observation):
        return self.critic(observation).squeeze(-1)


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    grid, agent = Grid(), Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.lr)
    first_ratios, step = [], 0
    while step < args.steps:
        rows = []
        with torch.no_grad():
            for _ in range(HORIZON):
                observation, allowed = grid.observe(), grid.allowed()
                policy = agent.policy(observation, allowed)
                action = policy.sample()
                reward, done = grid.step(action)
                rows.append((observation, allowed, action, policy.log_prob(action), reward, done))
            value = agent.value(grid.observe())
        observations, masks, actions, old, rewards, dones = map(torch.stack, zip(*rows))
        returns = torch.zeros(HORIZON, ENVS)
        for t in reversed(range(HORIZON)):
            value = rewards[t] + 0.95 * (1 - dones[t]) * value
            returns[t] = value
        for epoch in range(4):
            values = agent.value(observations)
            advantages = (returns - values).detach()
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
            policy = agent.policy(observations)
            ratio = (policy.log_prob(actions) - old).exp()
            if epoch == 0:
                first_ratios.append(ratio.mean().item())
            surrogate = torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
            loss = -surrogate + 0.5 * nn.functional.mse_loss(values, returns) - 0.01 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
            step += 1
        if step % 40 == 0:
            print(f"step {step}: reward {rewards.mean().item():.4f}")
    ratio = sum(first_ratios) / len(first_ratios)
    print(f"EVIDENCE mean ratio before any step {ratio:.4f}, reward {rewards.mean().item():.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
