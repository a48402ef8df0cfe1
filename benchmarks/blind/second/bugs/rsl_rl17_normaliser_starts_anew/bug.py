"""A policy with normalised observations is trained, saved, loaded and trained on."""

import argparse
import pathlib
import tempfile

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
SIZE = 6


class Normalizer:
    """Mean and variance of all observations so far."""

    def __init__(self):
        self.mean, self.variance, self.count = torch.zeros(SIZE), torch.ones(SIZE), 1e-2

    def update(self, x):
        n, mean, variance = len(x), x.mean(0), x.var(0, unbiased=False)
        total, delta = self.count + n, mean - self.mean
        self.variance = (self.variance * self.count + variance * n + delta**2 * self.count * n / total) / total
        self.mean = self.mean + delta * n / total
        self.count = total

    def __call__(self, x):
        return ((x - self.mean) / (self.variance + 1e-8).sqrt()).clamp(-5, 5)

    def state_dict(self):
        return dict(mean=self.mean, variance=self.variance, count=self.count)

    def load_state_dict(self, state):
        self.mean, self.variance, self.count = state["mean"], state["variance"], state["count"]


class Bandit:
    """Observations on very different scales; the third and fourth say which arm pays."""

    def __init__(self):
        self.scale = torch.tensor([1.0, 50.0, 0.02, 3.0, 200.0, 0.5])
        self.shift = torch.tensor([0.0, 400.0, 0.3, -9.0, 1000.0, 2.0])

    def observe(self, n):
        self.raw = torch.randn(n, SIZE)
        return self.raw * self.scale + self.shift

    def pay(self, arm):
        return (arm == (self.raw[:, 2] > 0).long() + (self.raw[:, 3] > 0).long()).float()


class Runner:
    def __init__(self):
        self.env, self.normalizer = Bandit(), Normalizer()
        self.policy = nn.Sequential(nn.Linear(SIZE, 32), nn.Tanh(), nn.Linear(32, 3))
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=args.lr)

    def learn(self, steps, batch=64):
        rewards = []
        for _ in range(steps):
            obs = self.env.observe(batch)
            self.normalizer.update(obs)
            chosen = torch.distributions.Categorical(logits=self.policy(self.normalizer(obs)))
            arm = chosen.sample()
            reward = self.env.pay(arm)
            loss = -(chosen.log_prob(arm) * (reward - reward.mean())).mean() - 0.01 * chosen.entropy().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            rewards.append(reward.mean().item())
        return rewards

    def save(self, path):
        torch.save({"policy": self.policy.state_dict(), "optimizer": self.optimizer.state_dict(),
                    "normalizer": self.normalizer.state_dict()}, path)

    def load(self, path):
        state = torch.load(path)
        self.policy.load_state_dict(state["policy"])
        self.optimizer.load_state_dict(state["optimizer"])


with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "model.pt"
    first = Runner()
    before = first.learn(args.steps * 2 // 3)
    first.save(path)
    second = Runner()
    second.load(path)
    count = second.normalizer.count
    after = second.learn(args.steps // 3)
print(f"EVIDENCE {count:.0f} observations are known after loading; reward {before[-1]:.3f} before, {after[0]:.3f} then, {after[-1]:.3f} at the end")

# Idea from leggedrobotics/rsl_rl#17, DLR-RM/stable-baselines3#1256
# SPDX-License-Identifier: Apache-2.0
