"""DDPG on a one-dimensional task with target networks for critic and actor."""

import argparse
import copy

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class Agent:
    def __init__(self):
        self.actor = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())
        self.critic = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
        self.target_actor, self.target_critic = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=args.lr)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=args.lr)

    def learn(self, state, action, reward, after):
        with torch.no_grad():
            goal = reward + 0.95 * self.target_critic(torch.cat([after, self.target_actor(after)], 1))
        critic_loss = nn.functional.mse_loss(self.critic(torch.cat([state, action], 1)), goal)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()
        actor_loss = -self.critic(torch.cat([state, self.actor(state)], 1)).mean()
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()
        self.follow(self.target_critic, self.critic)
        self.follow(self.target_actor, self.actor)
        return critic_loss.item()

    @torch.no_grad()
    def follow(self, target, source, tau=0.02):
        for old, new in zip(target.parameters(), source.parameters()):
            old.lerp_(new, tau)


agent = Agent()
start = [p.clone() for p in agent.target_actor.parameters()]
for step in range(args.steps):
    state, action = torch.randn(64, 3), torch.rand(64, 1) * 2 - 1
    after = state + 0.3 * action
    loss = agent.learn(state, action, -after.abs().mean(1, keepdim=True), after)
moved = sum((a - b).abs().sum().item() for a, b in zip(start, agent.target_actor.parameters()))
print(f"EVIDENCE the target actor moved by {moved:.4f}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
