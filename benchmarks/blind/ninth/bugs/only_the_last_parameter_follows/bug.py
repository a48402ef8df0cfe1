"""DDPG on a pendulum-like arm; target networks follow slowly."""
import argparse
import copy

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def mlp(sizes, last=nn.Identity):
    layers = []
    for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
        layers += [nn.Linear(a, b), nn.ReLU() if i < len(sizes) - 2 else last()]
    return nn.Sequential(*layers)


class Arm:
    """An arm is to be held at a place; observations are place, speed and goal."""

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.state, self.time = self.rng.uniform(-1, 1, 3) * [1, 0.2, 1], 0
        return self.state.astype(np.float32)

    def step(self, action):
        place, speed, goal = self.state
        speed = 0.8 * speed + 0.3 * float(action)
        place = np.clip(place + 0.5 * speed, -2, 2)
        self.state, self.time = np.array([place, speed, goal]), self.time + 1
        return self.state.astype(np.float32), -abs(place - goal) - 0.02 * float(action) ** 2, self.time >= 25


class DDPG:
    def __init__(self, lr, tau=0.05, gamma=0.9):
        self.actor, self.critic = mlp([3, 48, 48, 1], nn.Tanh), mlp([4, 48, 48, 1])
        self.actor_target, self.critic_target = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=lr)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=2 * lr)
        self.tau, self.gamma = tau, gamma

    @torch.no_grad()
    def select_action(self, obs, noise=0.0):
        action = self.actor(torch.from_numpy(obs)).item()
        return float(np.clip(action + noise, -1, 1))

    def soft_update(self, net, target_net):
        for param, target_param in zip(net.parameters(), target_net.parameters()):
            value = self.tau * param.data + (1 - self.tau) * target_param.data
        target_param.data.copy_(value)

    def train(self, obs, action, reward, next_obs):
        with torch.no_grad():
            next_q = self.critic_target(torch.cat([next_obs, self.actor_target(next_obs)], 1))
            target = reward[:, None] + self.gamma * next_q
        critic_loss = F.mse_loss(self.critic(torch.cat([obs, action[:, None]], 1)), target)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()
        actor_loss = -self.critic(torch.cat([obs, self.actor(obs)], 1)).mean()
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()
        self.soft_update(self.critic, self.critic_target)
        self.soft_update(self.actor, self.actor_target)
        return critic_loss.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=900)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(args.seed)
    env, agent, memory = Arm(rng), DDPG(args.lr), []
    obs, learned = env.reset(), 0
    while learned < args.steps:
        action = agent.select_action(obs, rng.normal(0, 0.3)) if len(memory) > 200 else rng.uniform(-1, 1)
        next_obs, reward, end = env.step(action)
        memory.append((obs, action, reward, next_obs))
        obs = env.reset() if end else next_obs
        if len(memory) > 200:
            rows = [memory[i] for i in rng.integers(len(memory), size=64)]
            loss = agent.train(*(torch.tensor(np.array(part), dtype=torch.float32) for part in zip(*rows)))
            learned += 1
            if learned % 300 == 0:
                print(f"step {learned}: loss of the critic {loss:.4f}")
    test, total = Arm(np.random.default_rng(99)), 0.0
    for _ in range(30):
        obs, end = test.reset(), False
        while not end:
            obs, reward, end = test.step(agent.select_action(obs))
            total += reward
    with torch.no_grad():
        gap = sum((p - q).norm() for p, q in zip(agent.critic.parameters(), agent.critic_target.parameters())).item()
    print(f"EVIDENCE mean return {total / 30:.4f}, the critic's target is {gap:.4f} away")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
