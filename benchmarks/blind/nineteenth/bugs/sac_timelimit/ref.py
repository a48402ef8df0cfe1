"""Soft actor-critic on a hand written hover task with a time limit (never a real terminal state)."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

TIME_LIMIT = 12


class HoverVec:
    """n point masses; reward 1 at the origin and falling off with distance. Episodes are cut by the clock."""

    def __init__(self, n, gen):
        self.n, self.gen = n, gen
        self.state = self._fresh(n)
        self.clock = torch.randint(0, TIME_LIMIT, (n,), generator=gen)

    def _fresh(self, n):
        return torch.cat([torch.rand(n, 1, generator=self.gen) * 2 - 1,
                          torch.randn(n, 1, generator=self.gen) * 0.2], 1)

    def observe(self):
        return self.state.clone()

    def step(self, action):
        x, v = self.state[:, 0], self.state[:, 1]
        v = 0.9 * v + 0.25 * action[:, 0] + 0.02 * torch.randn(self.n, generator=self.gen)
        x = (x + 0.3 * v).clamp(-2, 2)
        self.state = torch.stack([x, v], 1)
        self.clock += 1
        reward = torch.exp(-4 * x ** 2) - 0.05 * action[:, 0] ** 2
        final_obs = self.observe()
        terminated = torch.zeros(self.n, dtype=torch.bool)
        truncated = self.clock >= TIME_LIMIT
        if truncated.any():
            k = int(truncated.sum())
            self.state[truncated] = self._fresh(k)
            self.clock[truncated] = 0
        return final_obs, reward, terminated, truncated


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, obs):
        mean, log_std = self.body(obs).chunk(2, -1)
        std = log_std.clamp(-5, 1).exp()
        u = mean + std * torch.randn_like(mean)
        a = torch.tanh(u)
        logp = torch.distributions.Normal(mean, std).log_prob(u) - 2 * (0.6931 - u - F.softplus(-2 * u))
        return a, logp.sum(-1), torch.tanh(mean)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, obs, act):
        return self.body(torch.cat([obs, act], -1)).squeeze(-1)


class ReplayBuffer:
    def __init__(self, size):
        self.size, self.n, self.ptr = size, 0, 0
        self.obs, self.nxt = torch.zeros(size, 2), torch.zeros(size, 2)
        self.act, self.rew, self.done = torch.zeros(size, 1), torch.zeros(size), torch.zeros(size)

    def add(self, obs, act, rew, nxt, done):
        k = len(obs)
        idx = (self.ptr + torch.arange(k)) % self.size
        self.obs[idx], self.act[idx], self.rew[idx], self.nxt[idx] = obs, act, rew, nxt
        self.done[idx] = done.float()
        self.ptr = (self.ptr + k) % self.size
        self.n = min(self.n + k, self.size)

    def sample(self, batch):
        i = torch.randint(0, self.n, (batch,))
        return self.obs[i], self.act[i], self.rew[i], self.nxt[i], self.done[i]


@torch.no_grad()
def evaluate(actor, q1, gamma, horizon=120):
    gen = torch.Generator().manual_seed(4321)
    env = HoverVec(256, gen)
    env.clock[:] = -10_000
    first_obs = env.observe()
    obs, total, first_act = first_obs, torch.zeros(256), None
    for t in range(horizon):
        _, _, act = actor(obs)
        first_act = act if first_act is None else first_act
        obs, rew, _, _ = env.step(act)
        total += gamma ** t * rew
    return total.mean().item(), q1(first_obs, first_act).mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=100)
    ap.add_argument("--gamma", type=float, default=0.9)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 3)

    env, buffer = HoverVec(32, gen), ReplayBuffer(20_000)
    actor, q1, q2 = Actor(), Critic(), Critic()
    t1, t2 = copy.deepcopy(q1), copy.deepcopy(q2)
    log_alpha = torch.tensor(-3.0, requires_grad=True)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=args.lr)
    critic_opt = torch.optim.Adam([*q1.parameters(), *q2.parameters()], lr=args.lr)
    alpha_opt = torch.optim.Adam([log_alpha], lr=args.lr)

    obs = env.observe()
    for step in range(args.steps):
        for _ in range(8):
            with torch.no_grad():
                act = actor(obs)[0] if step >= 4 else torch.rand(32, 1) * 2 - 1
            final_obs, reward, terminated, truncated = env.step(act)
            done = terminated
            buffer.add(obs, act, reward, final_obs, done)
            obs = env.observe()
        for _ in range(8):
            o, a, r, o2, d = buffer.sample(128)
            alpha = log_alpha.exp().detach()
            with torch.no_grad():
                a2, lp2, _ = actor(o2)
                target = r + args.gamma * (1 - d) * (torch.min(t1(o2, a2), t2(o2, a2)) - alpha * lp2)
            critic_loss = F.mse_loss(q1(o, a), target) + F.mse_loss(q2(o, a), target)
            critic_opt.zero_grad()
            critic_loss.backward()
            critic_opt.step()

            pi, lp, _ = actor(o)
            actor_loss = (alpha * lp - torch.min(q1(o, pi), q2(o, pi))).mean()
            actor_opt.zero_grad()
            actor_loss.backward()
            actor_opt.step()

            alpha_loss = -(log_alpha * (lp.detach() - 1.0)).mean()
            alpha_opt.zero_grad()
            alpha_loss.backward()
            alpha_opt.step()
            with torch.no_grad():
                for net, tgt in ((q1, t1), (q2, t2)):
                    for p, tp in zip(net.parameters(), tgt.parameters()):
                        tp.lerp_(p, 0.05)
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step:4d} critic {critic_loss.item():.4f} actor {actor_loss.item():.4f} "
                  f"alpha {log_alpha.exp().item():.3f}")

    ret, q = evaluate(actor, q1, args.gamma)
    print(f"EVIDENCE value_error={abs(q - ret):.4f} discounted_return={ret:.4f} predicted={q:.4f}")


if __name__ == "__main__":
    main()
