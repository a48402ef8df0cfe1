"""Soft actor-critic: a learned temperature, an actor that is updated every second step but then twice, two critics."""

import argparse
import copy

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=50)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


def mlp(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, outputs))


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(2, 2)

    def forward(self, obs):
        mean, log_std = self.net(obs).chunk(2, 1)
        normal = torch.distributions.Normal(mean, (-2 + 2 * log_std.tanh()).exp())
        raw = normal.rsample()
        action = raw.tanh()
        return action, (normal.log_prob(raw) - (1 - action**2 + 1e-6).log()).sum(1)


def transitions(n):
    obs, action = torch.randn(n, 2), torch.rand(n, 1) * 2 - 1
    following = 0.9 * obs + torch.cat([action, -action], 1) * 0.3
    return obs, action, -(following**2).sum(1), following, (torch.rand(n) < 0.05).float()


actor, critics = Actor(), nn.ModuleList(mlp(3, 1) for _ in range(2))
targets = copy.deepcopy(critics).requires_grad_(False)
log_alpha = torch.zeros(1, requires_grad=True)
critic_optimizer = torch.optim.Adam(critics.parameters(), lr=args.lr)
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=args.lr)
alpha_optimizer = torch.optim.Adam([log_alpha], lr=args.lr)
memory = transitions(1000)
for step in range(args.steps):
    index = torch.randint(0, 1000, (64,))
    obs, action, reward, following, done = (m[index] for m in memory)
    with torch.no_grad():
        next_action, next_log = actor(following)
        both = torch.cat([t(torch.cat([following, next_action], 1)) for t in targets], 1)
        goal = reward + 0.95 * (1 - done) * (both.min(1).values - log_alpha.exp() * next_log)
    critic_loss = sum(nn.functional.mse_loss(c(torch.cat([obs, action], 1)).squeeze(1), goal) for c in critics)
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()
    if step % 2 == 0:
        for _ in range(2):
            new, log_prob = actor(obs)
            value = torch.cat([c(torch.cat([obs, new], 1)) for c in critics], 1).min(1).values
            actor_loss = (log_alpha.exp().detach() * log_prob - value).mean()
            actor_optimizer.zero_grad()
            actor_loss.backward()
            actor_optimizer.step()
            alpha_loss = -(log_alpha.exp() * (log_prob.detach() - 1.0)).mean()
            alpha_optimizer.zero_grad()
            alpha_loss.backward()
            alpha_optimizer.step()
    with torch.no_grad():
        for t, c in zip(targets.parameters(), critics.parameters()):
            t.mul_(0.95).add_(c, alpha=0.05)
print(f"critics' loss {critic_loss.item():.3f}, actor's {actor_loss.item():.3f}, temperature {log_alpha.exp().item():.3f}")

# SPDX-License-Identifier: Apache-2.0
