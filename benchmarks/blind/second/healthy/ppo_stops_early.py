"""Clipped policy gradients: epochs over one rollout end when the policy has moved too far; the rate falls to zero."""

import argparse

import torch
from torch import nn
from torch.distributions import Normal

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=12)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = self.make(1, 0.01)
        self.critic = self.make(1, 1.0)
        self.log_std = nn.Parameter(torch.zeros(1))

    @staticmethod
    def make(outputs, gain):
        layers = [nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, outputs)]
        for layer, g in zip(layers[::2], (2**0.5, gain)):
            nn.init.orthogonal_(layer.weight, g)
            nn.init.zeros_(layer.bias)
        return nn.Sequential(*layers)

    def policy(self, obs):
        return Normal(self.mean(obs), self.log_std.exp().expand(len(obs), 1))


def rollout(agent, n=256):
    """One step long: the action shall meet a mixture of what is seen."""
    obs = torch.randn(n, 3)
    with torch.no_grad():
        chosen = agent.policy(obs)
        action = chosen.sample()
        value = agent.critic(obs).squeeze(1)
        log_prob = chosen.log_prob(action).sum(1)
    reward = -(action.squeeze(1) - obs[:, 0] + 0.5 * obs[:, 1]) ** 2
    return obs, action, log_prob, reward, value


agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=args.lr, eps=1e-5)
for update in range(args.steps):
    for group in optimizer.param_groups:
        group["lr"] = args.lr * (1 - update / args.steps)
    obs, action, old, reward, value = rollout(agent)
    advantage, stopped = reward - value, False
    for epoch in range(4):
        for index in torch.randperm(len(obs)).split(64):
            chosen = agent.policy(obs[index])
            change = chosen.log_prob(action[index]).sum(1) - old[index]
            ratio = change.exp()
            with torch.no_grad():
                divergence = (ratio - 1 - change).mean()
            a = advantage[index]
            a = (a - a.mean()) / (a.std() + 1e-8)
            policy_loss = torch.max(-a * ratio, -a * ratio.clamp(0.8, 1.2)).mean()
            now = agent.critic(obs[index]).squeeze(1)
            near = value[index] + (now - value[index]).clamp(-0.2, 0.2)
            value_loss = 0.5 * torch.max((now - reward[index]) ** 2, (near - reward[index]) ** 2).mean()
            loss = policy_loss + 0.5 * value_loss - 0.005 * chosen.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
        if divergence > 0.01:
            stopped = True
            break
    print(f"update {update}: reward {reward.mean():.3f}, epochs {epoch + 1}, stopped {stopped}")

# SPDX-License-Identifier: Apache-2.0
