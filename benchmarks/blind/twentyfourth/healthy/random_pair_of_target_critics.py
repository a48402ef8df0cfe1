"""Soft actor-critic with an ensemble: each target takes the smaller of two critics that are drawn anew, the actor their average."""
import argparse
import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

CRITICS, SUBSET = 5, 2


def mlp(inputs, outputs, width=32):
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, outputs))


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(2, 2)

    def forward(self, obs):
        mean, log_std = self.net(obs).chunk(2, -1)
        dist = torch.distributions.Normal(mean, log_std.clamp(-4, 1).exp())
        raw = dist.rsample()
        logp = dist.log_prob(raw) - 2 * (0.6931 - raw - F.softplus(-2 * raw))
        return raw.tanh(), logp


class Follow:
    def __init__(self, rng):
        self.rng = rng
        self.reset()

    def reset(self):
        self.x, self.goal, self.t = self.rng.uniform(-1, 1), self.rng.uniform(-1, 1), 0
        return [self.x, self.goal]

    def step(self, action):
        self.x = max(-2.0, min(2.0, self.x + 0.5 * action))
        self.t += 1
        return [self.x, self.goal], -abs(self.x - self.goal), self.t >= 15


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=50)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    env, actor = Follow(rng), Actor()
    critics = nn.ModuleList(mlp(3, 1) for _ in range(CRITICS))
    targets = copy.deepcopy(critics).requires_grad_(False)
    actor_optimizer = torch.optim.Adam(actor.parameters(), lr=args.lr)
    critic_optimizer = torch.optim.Adam(critics.parameters(), lr=args.lr)
    alpha, gamma, buffer, obs, rewards = 0.05, 0.8, [], env.reset(), []
    for step in range(args.steps):
        for _ in range(10):
            with torch.no_grad():
                action = actor(torch.tensor([obs]))[0].item()
            following, reward, done = env.step(action)
            buffer.append((obs, [action], [reward], following))
            rewards.append(reward)
            obs = env.reset() if done else following
        for _ in range(4):
            o, a, r, o2 = [torch.tensor(c) for c in zip(*rng.choices(buffer, k=64))]
            with torch.no_grad():
                a2, logp2 = actor(o2)
                pair = rng.sample(range(CRITICS), SUBSET)       # the other targets have no part in this update
                q2 = torch.stack([targets[i](torch.cat([o2, a2], 1)) for i in pair]).amin(0)
                y = r + gamma * (q2 - alpha * logp2)
            critic_loss = sum(F.mse_loss(c(torch.cat([o, a], 1)), y) for c in critics)
            critic_optimizer.zero_grad()
            critic_loss.backward()
            critic_optimizer.step()
            with torch.no_grad():
                for t, c in zip(targets.parameters(), critics.parameters()):
                    t.lerp_(c, 0.05)
        # the actor moves once for four updates of the critics
        action, logp = actor(o)
        actor_loss = (alpha * logp - torch.stack([c(torch.cat([o, action], 1)) for c in critics]).mean(0)).mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()
        if step % 12 == 0 or step == args.steps - 1:
            print(f"step {step} critic {critic_loss.item():.4f} actor {actor_loss.item():.4f} reward {sum(rewards[-50:]) / len(rewards[-50:]):.3f}")


if __name__ == "__main__":
    main()
