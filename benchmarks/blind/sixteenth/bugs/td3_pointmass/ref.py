"""TD3 on a small 2-D point-mass reaching task with a uniform replay buffer."""
import argparse
import copy
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class PointMassEnv:
    """State: position (2), velocity (2), goal offset (2). Action: acceleration in [-1, 1]^2."""

    def __init__(self, rng, horizon=40):
        self.rng = rng
        self.horizon = horizon

    def reset(self):
        self.t = 0
        self.state = np.zeros(6, dtype=np.float32)
        self.state[:2] = self.rng.uniform(-1, 1, 2)
        self.goal = self.rng.uniform(-1, 1, 2).astype(np.float32)
        self.state[4:] = self.goal - self.state[:2]
        return self.state

    def step(self, action):
        self.t += 1
        self.state[2:4] = 0.8 * self.state[2:4] + 0.15 * np.clip(action, -1, 1)
        self.state[:2] = np.clip(self.state[:2] + self.state[2:4], -2, 2)
        self.state[4:] = self.goal - self.state[:2]
        reward = -float(np.linalg.norm(self.state[4:])) - 0.01 * float(np.square(action).sum())
        return self.state, reward, self.t >= self.horizon


class ReplayBuffer:
    def __init__(self, capacity):
        self.data = deque(maxlen=capacity)

    def __len__(self):
        return len(self.data)

    def add(self, obs, action, reward, next_obs):
        self.data.append((obs, action, torch.tensor([reward]), next_obs))

    def sample(self, n):
        batch = random.sample(self.data, n)
        return [torch.stack(column) for column in zip(*batch)]


def mlp(n_in, n_out, hidden=64):
    return nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                         nn.Linear(hidden, n_out))


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(6, 2)

    def forward(self, obs):
        return torch.tanh(self.net(obs))


class TwinCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.q1, self.q2 = mlp(8, 1), mlp(8, 1)

    def forward(self, obs, act):
        x = torch.cat([obs, act], dim=-1)
        return self.q1(x), self.q2(x)


def to_tensor(obs):
    return torch.from_numpy(obs).clone()


def soft_update(target, source, tau=0.01):
    with torch.no_grad():
        for pt, ps in zip(target.parameters(), source.parameters()):
            pt.lerp_(ps, tau)


def evaluate(actor, rng, episodes=20):
    env, returns = PointMassEnv(rng), []
    for _ in range(episodes):
        obs, done, total = env.reset(), False, 0.0
        while not done:
            with torch.no_grad():
                act = actor(to_tensor(obs)).numpy()
            obs, reward, done = env.step(act)
            total += reward
        returns.append(total)
    return float(np.mean(returns))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--steps", type=int, default=1000)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    random.seed(args.seed)
    rng = np.random.default_rng(args.seed)

    env = PointMassEnv(rng)
    actor, critic = Actor(), TwinCritic()
    actor_t, critic_t = copy.deepcopy(actor), copy.deepcopy(critic)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=args.lr)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=args.lr)
    replay, gamma, warmup = ReplayBuffer(20000), 0.95, 200

    obs = to_tensor(env.reset())
    for step in range(args.steps + warmup):
        if step < warmup:
            act = torch.rand(2) * 2 - 1
        else:
            with torch.no_grad():
                act = (actor(obs) + 0.2 * torch.randn(2)).clamp(-1, 1)
        raw_obs, reward, done = env.step(act.numpy())
        next_obs = to_tensor(raw_obs)
        replay.add(obs, act, reward, next_obs)
        obs = to_tensor(env.reset()) if done else next_obs
        if step < warmup:
            continue

        s, a, r, s2 = replay.sample(64)
        with torch.no_grad():
            noise = (0.2 * torch.randn_like(a)).clamp(-0.5, 0.5)
            a2 = (actor_t(s2) + noise).clamp(-1, 1)
            backup = r + gamma * torch.min(*critic_t(s2, a2))  # time limits are not terminal
        q1, q2 = critic(s, a)
        critic_loss = F.mse_loss(q1, backup) + F.mse_loss(q2, backup)
        critic_opt.zero_grad()
        critic_loss.backward()
        critic_opt.step()

        if step % 2 == 0:
            actor_loss = -critic(s, actor(s))[0].mean()
            actor_opt.zero_grad()
            actor_loss.backward()
            actor_opt.step()
            soft_update(actor_t, actor)
            soft_update(critic_t, critic)
        if step % 200 == 0:
            print(f"step {step} critic_loss {critic_loss.item():.4f} actor_loss {actor_loss.item():.4f}")

    ret = evaluate(actor, np.random.default_rng(12345))
    stored = torch.stack([t[0] for t in replay.data])
    print(f"EVIDENCE eval_return={ret:.3f} distinct_states={torch.unique(stored, dim=0).shape[0]} stored={len(replay)}")


if __name__ == "__main__":
    main()
