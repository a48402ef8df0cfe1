"""Soft actor-critic with automatic temperature on a vectorised reaching task.

One backward pass per network, then all optimizers step together, so that every
loss of an iteration is computed from the same set of weights.
"""
import argparse
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class ReachEnv:
    """A point mass in the plane has to reach a goal; the action is an acceleration in [-1, 1]^2."""

    obs_dim, act_dim = 6, 2

    def __init__(self, n, seed, limit=30):
        self.n, self.limit = n, limit
        self.gen = torch.Generator().manual_seed(seed)
        self.reset()

    def reset(self):
        self.pos = torch.rand(self.n, 2, generator=self.gen) * 2 - 1
        self.vel = torch.zeros(self.n, 2)
        self.goal = torch.rand(self.n, 2, generator=self.gen) * 2 - 1
        self.t = 0
        return self.obs()

    def obs(self):
        return torch.cat([self.pos, self.vel, self.goal - self.pos], 1)

    def step(self, act):
        self.vel = 0.8 * self.vel + 0.2 * act
        self.pos = (self.pos + 0.4 * self.vel).clamp(-1.5, 1.5)
        self.t += 1
        dist = (self.goal - self.pos).norm(dim=1)
        rew = -dist - 0.02 * act.pow(2).sum(1)
        return self.obs(), rew, self.t >= self.limit


def mlp(n_in, n_out, hidden=64):
    return nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                         nn.Linear(hidden, n_out))


class Actor(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.net = mlp(obs_dim, 2 * act_dim)

    def forward(self, obs, deterministic=False):
        mu, log_std = self.net(obs).chunk(2, dim=-1)
        log_std = log_std.clamp(-5, 2)
        if deterministic:
            return torch.tanh(mu), None
        raw = mu + log_std.exp() * torch.randn_like(mu)
        logp = (-0.5 * ((raw - mu) / log_std.exp()) ** 2 - log_std - 0.5 * math.log(2 * math.pi)).sum(-1)
        logp = logp - (2 * (math.log(2) - raw - F.softplus(-2 * raw))).sum(-1)
        return torch.tanh(raw), logp


class TwinQ(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.q1, self.q2 = mlp(obs_dim + act_dim, 1), mlp(obs_dim + act_dim, 1)

    def forward(self, obs, act):
        x = torch.cat([obs, act], -1)
        return self.q1(x).squeeze(-1), self.q2(x).squeeze(-1)


class Replay:
    def __init__(self, capacity, obs_dim, act_dim):
        self.store = [torch.zeros(capacity, obs_dim), torch.zeros(capacity, act_dim), torch.zeros(capacity),
                      torch.zeros(capacity, obs_dim)]
        self.capacity, self.ptr, self.size = capacity, 0, 0

    def add(self, *items):
        n = len(items[0])
        idx = (self.ptr + torch.arange(n)) % self.capacity
        for buf, item in zip(self.store, items):
            buf[idx] = item
        self.ptr = (self.ptr + n) % self.capacity
        self.size = min(self.size + n, self.capacity)

    def sample(self, n):
        idx = torch.randint(self.size, (n,))
        return [buf[idx] for buf in self.store]


class SAC:
    def __init__(self, obs_dim, act_dim, lr, gamma=0.95, tau=0.02):
        self.actor, self.critic = Actor(obs_dim, act_dim), TwinQ(obs_dim, act_dim)
        self.critic_target = copy.deepcopy(self.critic).requires_grad_(False)
        self.log_alpha = torch.tensor(math.log(0.2), requires_grad=True)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=lr)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=lr)
        self.alpha_opt = torch.optim.Adam([self.log_alpha], lr=lr)
        self.gamma, self.tau, self.target_entropy = gamma, tau, -float(act_dim)

    def update(self, batch):
        obs, act, rew, nxt = batch
        alpha = self.log_alpha.exp().detach()
        for opt in (self.critic_opt, self.actor_opt, self.alpha_opt):
            opt.zero_grad()

        with torch.no_grad():
            nxt_act, nxt_logp = self.actor(nxt)
            tq = torch.min(*self.critic_target(nxt, nxt_act)) - alpha * nxt_logp
            y = rew + self.gamma * tq
        q1, q2 = self.critic(obs, act)
        critic_loss = F.mse_loss(q1, y) + F.mse_loss(q2, y)
        critic_loss.backward()

        self.critic.requires_grad_(False)
        new_act, logp = self.actor(obs)
        actor_loss = (alpha * logp - torch.min(*self.critic(obs, new_act))).mean()
        actor_loss.backward()
        self.critic.requires_grad_(True)

        alpha_loss = -(self.log_alpha * (logp.detach() + self.target_entropy)).mean()
        alpha_loss.backward()

        for opt in (self.critic_opt, self.actor_opt, self.alpha_opt):
            opt.step()
        with torch.no_grad():
            for tgt, src in zip(self.critic_target.parameters(), self.critic.parameters()):
                tgt.lerp_(src, self.tau)
        return critic_loss.item(), q1.mean().item()


@torch.no_grad()
def evaluate(agent, seed, gamma=0.95):
    env = ReachEnv(128, seed, limit=60)
    obs, total, discounted = env.obs(), 0.0, 0.0
    q0 = torch.min(*agent.critic(obs, agent.actor(obs, deterministic=True)[0])).mean().item()
    for t in range(60):
        obs, rew, _ = env.step(agent.actor(obs, deterministic=True)[0])
        total += rew.mean().item()
        discounted += gamma ** t * rew.mean().item()
    return total, q0, discounted, (env.goal - env.pos).norm(dim=1).mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=100)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    env = ReachEnv(32, args.seed)
    agent, replay = SAC(env.obs_dim, env.act_dim, args.lr), Replay(20000, env.obs_dim, env.act_dim)
    obs = env.obs()
    for step in range(1, args.steps + 1):
        for _ in range(10):
            with torch.no_grad():
                act = agent.actor(obs)[0] if step > 5 else torch.rand(env.n, env.act_dim) * 2 - 1
            nxt, rew, end = env.step(act)
            replay.add(obs, act, rew, nxt)
            obs = env.reset() if end else nxt
        for _ in range(8):
            critic_loss, q = agent.update(replay.sample(128))
        if step % 20 == 0:
            print(f"step {step:4d} critic {critic_loss:.4f} mean q {q:+.2f} alpha {agent.log_alpha.exp().item():.3f}")
    total, q0, real, dist = evaluate(agent, 500 + args.seed)
    print(f"EVIDENCE eval_return={total:.2f} final_distance={dist:.3f} q_estimate={q0:.2f} q_real={real:.2f}")


if __name__ == "__main__":
    main()
