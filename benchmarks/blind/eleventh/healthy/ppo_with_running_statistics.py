"""PPO on several copies of a small world: observations are normalised by running statistics, the rate falls, minibatches are shuffled."""
import argparse

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical


class RunningMeanStd:
    def __init__(self, shape):
        self.mean, self.var, self.count = np.zeros(shape), np.ones(shape), 1e-4

    def update(self, x):
        mean, var, n = x.mean(0), x.var(0), len(x)
        delta, total = mean - self.mean, self.count + n
        self.var = (self.var * self.count + var * n + delta ** 2 * self.count * n / total) / total
        self.mean, self.count = self.mean + delta * n / total, total

    def __call__(self, x):
        return torch.as_tensor(np.clip((x - self.mean) / np.sqrt(self.var + 1e-8), -10, 10), dtype=torch.float32)


def layer(inputs, outputs, gain=np.sqrt(2)):
    linear = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(linear.weight, gain)
    nn.init.zeros_(linear.bias)
    return linear


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2.5e-3)
    parser.add_argument("--steps", type=int, default=240)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    copies, horizon, epochs, size = 4, 64, 4, 64
    envs = [gym.make("CartPole-v1") for _ in range(copies)]
    raw = np.stack([env.reset(seed=args.seed + i)[0] for i, env in enumerate(envs)])
    actor = nn.Sequential(layer(4, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, 2, 0.01))
    critic = nn.Sequential(layer(4, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, 1, 1.0))
    parameters = [*actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=args.lr, eps=1e-5)
    statistics, lengths, running, step = RunningMeanStd(4), [], np.zeros(copies), 0
    iterations = max(1, args.steps // (epochs * copies * horizon // size))
    for iteration in range(iterations):
        optimizer.param_groups[0]["lr"] = args.lr * (1 - iteration / iterations)
        obs, acts, logps, rewards, values, ends = [], [], [], [], [], []
        for _ in range(horizon):
            statistics.update(raw)
            x = statistics(raw)
            with torch.no_grad():
                distribution, value = Categorical(logits=actor(x)), critic(x).squeeze(1)
                action = distribution.sample()
            reward, end, following = np.zeros(copies), np.zeros(copies), []
            for i, env in enumerate(envs):
                o, reward[i], terminated, truncated, _ = env.step(action[i].item())
                running[i] += 1
                if truncated and not terminated:
                    with torch.no_grad():
                        reward[i] += 0.99 * critic(statistics(o[None])).item()
                if terminated or truncated:
                    end[i] = 1
                    lengths.append(running[i])
                    running[i] = 0
                    o, _ = env.reset()
                following.append(o)
            for store, item in zip((obs, acts, logps, rewards, values, ends),
                                   (x, action, distribution.log_prob(action), torch.as_tensor(reward, dtype=torch.float32), value,
                                    torch.as_tensor(end, dtype=torch.float32))):
                store.append(item)
            raw = np.stack(following)
        with torch.no_grad():
            next_value, last, advantages = critic(statistics(raw)).squeeze(1), 0.0, [None] * horizon
            for t in reversed(range(horizon)):
                delta = rewards[t] + 0.99 * next_value * (1 - ends[t]) - values[t]
                last = delta + 0.99 * 0.95 * (1 - ends[t]) * last
                advantages[t], next_value = last, values[t]
        flat = [torch.cat(s) for s in (obs, acts, logps, advantages, values)]
        returns = flat[3] + flat[4]
        for _ in range(epochs):
            for index in torch.randperm(copies * horizon).split(size):
                x, a, old, advantage = (f[index] for f in flat[:4])
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                distribution = Categorical(logits=actor(x))
                ratio = (distribution.log_prob(a) - old).exp()
                policy = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
                value_loss = 0.5 * (critic(x).squeeze(1) - returns[index]).pow(2).mean()
                loss = policy + 0.5 * value_loss - 0.01 * distribution.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(parameters, 0.5)
                optimizer.step()
                step += 1
        print(f"step {step}: value loss {value_loss.item():.4f}, mean length {np.mean(lengths[-20:]):.1f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
