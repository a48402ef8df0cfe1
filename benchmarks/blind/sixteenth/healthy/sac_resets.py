"""SAC with automatic temperature, several updates per env step and periodic network resets (primacy-bias recipe)."""
import argparse
import copy
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Pendulum:
    def __init__(self, rng):
        self.rng = rng

    def _obs(self):
        return np.array([math.cos(self.th), math.sin(self.th), self.dth / 4], dtype=np.float32)

    def reset(self):
        self.th, self.dth, self.t = self.rng.uniform(-math.pi, math.pi), self.rng.uniform(-1, 1), 0
        return self._obs()

    def step(self, a):
        u = 6.0 * float(np.clip(a, -1, 1))
        ang = (self.th + math.pi) % (2 * math.pi) - math.pi
        cost = ang ** 2 + 0.1 * self.dth ** 2 + 0.001 * u ** 2
        self.dth = float(np.clip(self.dth + (15 * math.sin(self.th) + 3 * u) * 0.05, -8, 8))
        self.th += self.dth * 0.05
        self.t += 1
        return self._obs(), -cost / 8, self.t >= 100


class RingBuffer:
    """Preallocated; rows are overwritten once the capacity is reached."""

    def __init__(self, capacity):
        self.s, self.s2 = torch.zeros(capacity, 3), torch.zeros(capacity, 3)
        self.a, self.r = torch.zeros(capacity, 1), torch.zeros(capacity, 1)
        self.cap, self.n = capacity, 0

    def add(self, s, a, r, s2):
        i = self.n % self.cap
        self.s[i], self.s2[i] = torch.from_numpy(s), torch.from_numpy(s2)
        self.a[i], self.r[i] = a, r
        self.n += 1

    def sample(self, k):
        i = torch.randint(0, min(self.n, self.cap), (k,))
        return self.s[i], self.a[i], self.r[i], self.s2[i]


def mlp(i, o, h=64):
    return nn.Sequential(nn.Linear(i, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, o))


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(3, 2)

    def forward(self, s):
        mu, log_std = self.net(s).chunk(2, dim=-1)
        dist = torch.distributions.Normal(mu, log_std.clamp(-5, 2).exp())
        pre = dist.rsample()
        logp = dist.log_prob(pre) - 2 * (math.log(2) - pre - F.softplus(-2 * pre))
        return torch.tanh(pre), logp, torch.tanh(mu)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.q1, self.q2 = mlp(4, 1), mlp(4, 1)

    def forward(self, s, a):
        x = torch.cat([s, a], -1)
        return self.q1(x), self.q2(x)


class Agent:
    def __init__(self, lr):
        self.lr = lr
        self.log_alpha = nn.Parameter(torch.tensor(-2.5))
        self.build()

    def build(self):
        """Fresh networks, targets and optimizer states; the replay buffer is what survives."""
        self.actor, self.critic = Actor(), Critic()
        self.target = copy.deepcopy(self.critic).requires_grad_(False)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=self.lr)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=self.lr)
        self.alpha_opt = torch.optim.Adam([self.log_alpha], lr=3 * self.lr)

    def update_critic(self, batch, gamma=0.97):
        s, a, r, s2 = batch
        with torch.no_grad():
            a2, logp2, _ = self.actor(s2)
            y = r + gamma * (torch.min(*self.target(s2, a2)) - self.log_alpha.exp() * logp2)
        q1, q2 = self.critic(s, a)
        loss = F.mse_loss(q1, y) + F.mse_loss(q2, y)
        self.critic_opt.zero_grad()
        loss.backward()
        self.critic_opt.step()
        with torch.no_grad():
            for pt, p in zip(self.target.parameters(), self.critic.parameters()):
                pt.lerp_(p, 0.01)
        return loss.item()

    def update_actor(self, s):
        self.critic.requires_grad_(False)
        a, logp, _ = self.actor(s)
        loss = (self.log_alpha.exp().detach() * logp - torch.min(*self.critic(s, a))).mean()
        self.actor_opt.zero_grad()
        loss.backward()
        self.actor_opt.step()
        self.critic.requires_grad_(True)
        alpha_loss = -(self.log_alpha * (logp.detach() - 1.0)).mean()  # target entropy -1
        self.alpha_opt.zero_grad()
        alpha_loss.backward()
        self.alpha_opt.step()


@torch.no_grad()
def evaluate(agent, episodes=5):
    env, total = Pendulum(np.random.default_rng(77)), 0.0
    for _ in range(episodes):
        s, done = env.reset(), False
        while not done:
            s, r, done = env.step(agent.actor(torch.from_numpy(s))[2].item())
            total += r
    return total / episodes


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--steps", type=int, default=700)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    env = Pendulum(np.random.default_rng(args.seed))
    agent, buf, warmup = Agent(args.lr), RingBuffer(600), 150
    before, s = evaluate(agent), env.reset()
    reset_at = {args.steps // 4, args.steps // 2}  # none in the second half
    for step in range(-warmup, args.steps):
        with torch.no_grad():
            a = torch.rand(1) * 2 - 1 if step < 0 else agent.actor(torch.from_numpy(s))[0]
        s2, r, done = env.step(a.item())
        buf.add(s, a, r, s2)
        s = env.reset() if done else s2
        if step < 0:
            continue
        if step in reset_at and step > 0:
            print(f"step {step}: resetting networks, eval was {evaluate(agent):.2f}")
            agent.build()
            for _ in range(30):  # let the new critic catch up on the old data first
                agent.update_critic(buf.sample(128))
        for _ in range(2):
            closs = agent.update_critic(buf.sample(128))
        if step % 2 == 0:
            agent.update_actor(buf.sample(128)[0])
        if step % 150 == 0:
            print(f"step {step} critic {closs:.4f} alpha {agent.log_alpha.exp().item():.3f}")
    print(f"EVIDENCE return_before={before:.3f} return_after={evaluate(agent):.3f}")


if __name__ == "__main__":
    main()
