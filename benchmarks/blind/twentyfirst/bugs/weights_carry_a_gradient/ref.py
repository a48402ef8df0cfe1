"""AWAC on a valve: transitions are gathered with noise, the actor imitates those with a large advantage."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal


def mlp(inp, out, width=48):
    return nn.Sequential(nn.Linear(inp, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, out))


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = mlp(3, 1)
        self.log_std = nn.Parameter(torch.zeros(1) - 0.5)

    def dist(self, obs):
        return Normal(torch.tanh(self.mean(obs)), self.log_std.exp())


class Buffer:
    def __init__(self, size):
        self.size, self.pos, self.full = size, 0, False
        self.obs, self.next_obs = torch.zeros(size, 3), torch.zeros(size, 3)
        self.action, self.reward = torch.zeros(size, 1), torch.zeros(size)
        self.written = torch.zeros(size, dtype=torch.bool)

    def add(self, obs, action, reward, next_obs):
        n = len(obs)
        where = (self.pos + torch.arange(n)) % self.size
        self.obs[where], self.action[where], self.reward[where] = obs, action, reward
        self.next_obs[where] = next_obs
        self.written[where] = True
        if self.pos + n >= self.size:
            self.full = True
        self.pos = (self.pos + n) % self.size

    def sample(self, n, gen):
        top = self.size if self.full else self.pos
        idx = torch.randint(0, top, (n,), generator=gen)
        empty = (~self.written[idx]).sum().item()
        return self.obs[idx], self.action[idx], self.reward[idx], self.next_obs[idx], empty


class Valve:
    """Pressure, flow and a wanted pressure; the action opens or closes."""

    def __init__(self, n, gen):
        self.gen = gen
        self.state = torch.rand(n, 3, generator=gen) * 2 - 1

    def step(self, action):
        p, q, goal = self.state.T
        q = 0.8 * q + 0.5 * action.squeeze(1).clamp(-1, 1)
        p = 0.9 * p + 0.4 * q + 0.02 * torch.randn(len(p), generator=self.gen)
        change = torch.rand(len(p), generator=self.gen) < 0.05
        goal = torch.where(change, torch.rand(len(p), generator=self.gen) * 2 - 1, goal)
        self.state = torch.stack([p, q, goal], 1)
        return self.state, 1.5 - (p - goal).abs() - 0.05 * action.squeeze(1).pow(2)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=260)
    ap.add_argument("--temperature", type=float, default=0.6)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    env, buffer = Valve(64, gen), Buffer(1024)
    actor, critic = Actor(), mlp(4, 1)
    target = copy.deepcopy(critic).requires_grad_(False)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=args.lr)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=args.lr)
    empties, pull, rewards = 0, 0.0, []
    obs = env.state
    for step in range(args.steps):
        with torch.no_grad():
            action = actor.dist(obs).sample() if step > 20 else torch.rand(64, 1, generator=gen) * 2 - 1
        next_obs, reward = env.step(action)
        buffer.add(obs, action, reward, next_obs)
        obs = next_obs
        rewards.append(reward.mean().item())
        if step < 10:
            continue
        o, a, r, o2, empty = buffer.sample(128, gen)
        empties += empty
        with torch.no_grad():
            a2 = actor.dist(o2).sample()
            backup = r + 0.95 * target(torch.cat([o2, a2], 1)).squeeze(1)
        critic_loss = F.mse_loss(critic(torch.cat([o, a], 1)).squeeze(1), backup)
        critic_opt.zero_grad()
        critic_loss.backward()
        critic_opt.step()

        dist = actor.dist(o)
        value = critic(torch.cat([o, dist.rsample()], 1)).squeeze(1)
        advantage = critic(torch.cat([o, a], 1)).squeeze(1) - value
        weights = (advantage / args.temperature).clamp(max=3.0).exp()
        actor_loss = -(weights.detach() * dist.log_prob(a).squeeze(1)).mean()
        actor_opt.zero_grad()
        critic_opt.zero_grad()
        actor_loss.backward()
        pull += sum(p.grad.norm().item() for p in critic.parameters() if p.grad is not None) / args.steps
        actor_opt.step()
        with torch.no_grad():
            for t, p in zip(target.parameters(), critic.parameters()):
                t.lerp_(p, 0.02)
        if step % 80 == 0:
            print(f"step {step} reward {rewards[-1]:.3f} critic {critic_loss.item():.4f}")
    print(f"EVIDENCE actor_loss_pull_on_critic={pull:.5f} empty_transitions={empties} reward={sum(rewards[-40:]) / 40:.4f}")


if __name__ == "__main__":
    main()
