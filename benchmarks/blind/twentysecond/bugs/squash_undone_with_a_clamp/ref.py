"""Soft actor-critic on a point that has to be pushed to the rim: the best actions are at the limit."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal


class SquashedGaussian:
    def __init__(self, mean, log_std):
        self.base = Normal(mean, log_std.clamp(-4, 1).exp())

    def sample(self):
        raw = self.base.rsample()
        return torch.tanh(raw), raw

    def logp(self, raw):
        """Of the action tanh(raw); the form with softplus holds where tanh is flat."""
        correction = 2 * (0.6931472 - raw - F.softplus(-2 * raw))
        return (self.base.log_prob(raw) - correction).sum(-1)


class Point:
    """Batch of points on a line; the force moves them, far to the right is good."""

    def __init__(self, count, gen):
        self.gen, self.count = gen, count
        self.reset()

    def reset(self):
        self.x = torch.rand(self.count, 1, generator=self.gen) * 2 - 1
        self.v = torch.zeros(self.count, 1)
        return torch.cat([self.x, self.v], 1)

    def step(self, action):
        self.v = 0.9 * self.v + 0.1 * action[:, :1] * torch.sign(0.9 - self.x).clamp(min=-1)
        self.x = (self.x + self.v).clamp(-2, 2)
        reward = -(self.x - 0.9).abs().squeeze(1) + 0.8 * action[:, 1].abs()
        return torch.cat([self.x, self.v], 1), reward


def mlp(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, n_out))


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(2, 4)

    def forward(self, obs):
        mean, log_std = self.net(obs).chunk(2, dim=1)
        return SquashedGaussian(4 * mean, log_std)


class Critics(nn.Module):
    def __init__(self):
        super().__init__()
        self.q1, self.q2 = mlp(4, 1), mlp(4, 1)

    def forward(self, obs, action):
        x = torch.cat([obs, action], 1)
        return self.q1(x).squeeze(1), self.q2(x).squeeze(1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=320)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gamma, tau, target_entropy = 0.95, 0.01, -2.0
    env = Point(8, torch.Generator().manual_seed(args.seed))
    actor, critics = Actor(), Critics()
    target = copy.deepcopy(critics).requires_grad_(False)
    log_alpha = torch.tensor(-1.0, requires_grad=True)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=args.lr)
    critic_opt = torch.optim.Adam(critics.parameters(), lr=args.lr)
    alpha_opt = torch.optim.Adam([log_alpha], lr=5 * args.lr)
    memory, obs, score, alphas = [], env.reset(), [], []
    for step in range(args.steps):
        with torch.no_grad():
            action, _ = actor(obs).sample()
        next_obs, reward = env.step(action)
        memory.append((obs, action, reward, next_obs))
        score.append(reward.mean().item())
        obs = env.reset() if step % 40 == 39 else next_obs
        if len(memory) < 20:
            continue
        picks = torch.randint(0, len(memory), (8,))
        o, a, r, n = (torch.cat([memory[i][k] for i in picks]) for k in range(4))
        alpha = log_alpha.exp().detach()
        with torch.no_grad():
            dist = actor(n)
            next_action, next_raw = dist.sample()
            value = torch.minimum(*target(n, next_action)) - alpha * dist.logp(next_raw)
            goal = r + gamma * value
        q1, q2 = critics(o, a)
        critic_loss = F.mse_loss(q1, goal) + F.mse_loss(q2, goal)
        critic_opt.zero_grad()
        critic_loss.backward()
        critic_opt.step()
        dist = actor(o)
        new_action, raw = dist.sample()
        logp = dist.logp(raw)
        actor_loss = (alpha * logp - torch.minimum(*critics(o, new_action))).mean()
        actor_opt.zero_grad()
        actor_loss.backward()
        actor_opt.step()
        alpha_loss = -(log_alpha.exp() * (logp.detach() + target_entropy)).mean()
        alpha_opt.zero_grad()
        alpha_loss.backward()
        alpha_opt.step()
        alphas.append(alpha.item())
        with torch.no_grad():
            for slow, fast in zip(target.parameters(), critics.parameters()):
                slow.lerp_(fast, tau)
        if step % 80 == 79:
            print(f"step {step + 1} reward {sum(score[-40:]) / 40:.3f} alpha {alpha.item():.3f} logp {logp.mean().item():.2f}")
    lowest = dist.logp(torch.full_like(raw, 9.0)).mean().item()
    print(f"EVIDENCE alpha={alphas[-1]:.4f} logp={logp.mean().item():.3f} far_logp={lowest:.2f} reward={sum(score[-40:]) / 40:.3f}")


if __name__ == "__main__":
    main()
