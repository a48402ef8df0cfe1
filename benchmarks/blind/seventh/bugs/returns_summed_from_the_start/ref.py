"""REINFORCE: a key has to be picked up before a door pays."""

import argparse

import torch
from torch import nn

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.02), ("--steps", int, 60)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()
LENGTH, GAMMA = 6, 0.95


def discounted(rewards):
    returns, total = [], torch.zeros_like(rewards[0])
    for reward in reversed(rewards):
        total = reward + GAMMA * total
        returns.insert(0, total)
    return torch.stack(returns)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(LENGTH + 1, 24), nn.Tanh(), nn.Linear(24, 3))

    def forward(self, time, key):
        place = nn.functional.one_hot(torch.tensor(time), LENGTH).float().expand(len(key), -1)
        return torch.distributions.Categorical(logits=self.net(torch.cat([place, key[:, None]], dim=1)))


def episode(policy, count):
    """Action 1 at the first time takes the key, action 2 at the last opens the door; others cost a little."""
    key, rewards, log_probs = torch.zeros(count), [], []
    for time in range(LENGTH):
        choice = policy(time, key)
        action = choice.sample()
        log_probs.append(choice.log_prob(action))
        reward = -0.1 * (action != 0).float()
        if time == 0:
            key = (action == 1).float()
        if time == LENGTH - 1:
            reward = reward + 2.0 * key * (action == 2).float()
        rewards.append(reward)
    return rewards, torch.stack(log_probs)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
for step in range(1, args.steps + 1):
    rewards, log_probs = episode(policy, 64)
    returns = discounted(rewards)
    advantage = returns - returns.mean(1, keepdim=True)
    loss = -(log_probs * advantage).sum(0).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 0:
        print(f"step {step}: loss {loss.item():.4f}, reward {torch.stack(rewards).sum(0).mean().item():.4f}")
rewards, _ = episode(policy, 400)
print(f"EVIDENCE the reward of an episode is {torch.stack(rewards).sum(0).mean().item():.4f}")

# SPDX-License-Identifier: Apache-2.0
