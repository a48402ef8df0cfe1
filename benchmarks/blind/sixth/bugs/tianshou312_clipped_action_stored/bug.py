"""PPO with a Gaussian policy that steers a point to its goal; the world allows actions from minus one to one."""

import argparse

import torch
from torch import nn
from torch.distributions import Normal

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=12)
args = parser.parse_args()
LIMIT, TIME, WORLDS = 1.0, 16, 16


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_deviation = nn.Parameter(torch.zeros(1))
        self.value = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))

    def distribution(self, state):
        return Normal(self.mean(state), self.log_deviation.exp())


class Rollout:
    def __init__(self):
        self.rows = []

    def add(self, *row):
        self.rows.append(row)

    def tensors(self):
        return [torch.stack(column) for column in zip(*self.rows)]


def move(state, action):
    """State: place and goal."""
    place = state[:, :1] + 0.3 * action
    return torch.cat([place, state[:, 1:]], dim=1), -(place - state[:, 1:]).abs().squeeze(1)


@torch.no_grad()
def play(policy):
    state, rollout = torch.rand(WORLDS, 2) * 4 - 2, Rollout()
    for _ in range(TIME):
        distribution = policy.distribution(state)
        action = distribution.sample()
        log_probability = distribution.log_prob(action).squeeze(1)
        clipped = action.clamp(-LIMIT, LIMIT)
        following, reward = move(state, clipped)
        rollout.add(state, clipped, log_probability, reward, policy.value(state).squeeze(1))
        state = following
    return rollout.tensors()


def returns_of(reward):
    total, result = torch.zeros(WORLDS), []
    for r in reward.flip(0):
        total = r + 0.9 * total
        result.append(total)
    return torch.stack(result[::-1])


def learn(policy, optimizer):
    state, action, old, reward, value = play(policy)
    goal = returns_of(reward)
    gain = goal - value
    gain = (gain - gain.mean()) / gain.std()
    for epoch in range(4):
        ratio = (policy.distribution(state).log_prob(action).squeeze(-1) - old).exp()
        if epoch == 0:
            first = (ratio - 1).abs().max().item()
        surrogate = torch.minimum(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
        loss = nn.functional.mse_loss(policy.value(state).squeeze(-1), goal) - surrogate
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
    return first, reward.mean().item()


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    history = []
    for number in range(args.steps):
        history.append(learn(policy, optimizer))
        print(f"rollout {number}: mean reward {history[-1][1]:.4f}")
    print(f"EVIDENCE before the first update ratios differ from one by {max(h[0] for h in history):.4f} at most")


main()

# SPDX-License-Identifier: Apache-2.0
