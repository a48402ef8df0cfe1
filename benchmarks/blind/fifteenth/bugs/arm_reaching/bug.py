"""Soft actor-critic with a learned temperature on a two-joint arm that has to reach a point."""
import argparse
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class ReachEnv:
    """Many arms at once. An observation: cos and sin of joints, the goal, the hand; actions are joint speeds in [-1, 1]."""

    def __init__(self, n, gen):
        self.n, self.gen = n, gen
        self.limit = 25
        self.q = torch.zeros(n, 2)
        self.goal = torch.zeros(n, 2)
        self.t = torch.zeros(n, dtype=torch.long)
        self.reset(torch.ones(n, dtype=torch.bool))

    def reset(self, which):
        k = int(which.sum())
        self.q[which] = (torch.rand(k, 2, generator=self.gen) * 2 - 1) * math.pi
        radius = 0.4 + 1.4 * torch.rand(k, generator=self.gen)
        angle = torch.rand(k, generator=self.gen) * 2 * math.pi
        self.goal[which] = torch.stack([radius * angle.cos(), radius * angle.sin()], 1)
        self.t[which] = 0
        return self.observe()

    def hand(self):
        a, b = self.q[:, 0], self.q.sum(1)
        return torch.stack([a.cos() + b.cos(), a.sin() + b.sin()], 1)

    def observe(self):
        hand = self.hand()
        return torch.cat([self.q.cos(), self.q.sin(), self.goal, self.goal - hand], 1)

    def step(self, action):
        self.q = self.q + 0.35 * action
        self.t += 1
        reward = -(self.goal - self.hand()).norm(dim=1) - 0.02 * action.square().sum(1)
        return self.observe(), reward, self.t >= self.limit


def mlp(n_in, n_out, width=64):
    return nn.Sequential(nn.Linear(n_in, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, n_out))


class Actor(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.net = mlp(obs_dim, 2 * act_dim)

    def forward(self, obs):
        mean, log_std = self.net(obs).chunk(2, dim=-1)
        std = log_std.clamp(-5, 2).exp()
        raw = mean + std * torch.randn_like(mean)
        logp = torch.distributions.Normal(mean, std).log_prob(raw)
        logp = logp - 2 * (math.log(2) - raw - F.softplus(-2 * raw))
        return torch.tanh(raw), logp.sum(-1), torch.tanh(mean)


class Memory:
    def __init__(self, size, obs_dim, act_dim):
        self.size, self.at, self.full = size, 0, False
        self.data = torch.zeros(size, 2 * obs_dim + act_dim + 1)
        self.cuts = (obs_dim, act_dim, 1, obs_dim)

    def add(self, *parts):
        rows = torch.cat(parts, 1)
        where = (self.at + torch.arange(len(rows))) % self.size
        self.data[where] = rows
        self.full = self.full or self.at + len(rows) >= self.size
        self.at = (self.at + len(rows)) % self.size

    def draw(self, n):
        top = self.size if self.full else self.at
        return self.data[torch.randint(0, top, (n,))].split(self.cuts, 1)


class SAC:
    def __init__(self, obs_dim, act_dim, lr, gamma=0.95, tau=0.02):
        self.actor = Actor(obs_dim, act_dim)
        self.critics = nn.ModuleList([mlp(obs_dim + act_dim, 1), mlp(obs_dim + act_dim, 1)])
        self.targets = copy.deepcopy(self.critics).requires_grad_(False)
        self.log_alpha = torch.tensor(math.log(0.2), requires_grad=True)
        self.target_entropy = float(act_dim)
        self.gamma, self.tau = gamma, tau
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=lr)
        self.critic_opt = torch.optim.Adam(self.critics.parameters(), lr=lr)
        self.alpha_opt = torch.optim.Adam([self.log_alpha], lr=lr)

    def update(self, obs, action, reward, next_obs):
        alpha = self.log_alpha.exp().detach()
        with torch.no_grad():
            next_action, next_logp, _ = self.actor(next_obs)
            pair = torch.cat([next_obs, next_action], 1)
            value = torch.min(self.targets[0](pair), self.targets[1](pair)).squeeze(1) - alpha * next_logp
            y = reward.squeeze(1) + self.gamma * value  # episodes end by time only
        pair = torch.cat([obs, action], 1)
        critic_loss = sum(F.mse_loss(c(pair).squeeze(1), y) for c in self.critics)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()

        new_action, logp, _ = self.actor(obs)
        pair = torch.cat([obs, new_action], 1)
        actor_loss = (alpha * logp - torch.min(self.critics[0](pair), self.critics[1](pair)).squeeze(1)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()

        alpha_loss = -(self.log_alpha * (logp + self.target_entropy).detach()).mean()
        self.alpha_opt.zero_grad()
        alpha_loss.backward()
        self.alpha_opt.step()
        with torch.no_grad():
            for p, t in zip(self.critics.parameters(), self.targets.parameters()):
                t.lerp_(p, self.tau)
        return critic_loss.item(), -logp.mean().item()


@torch.no_grad()
def evaluate(agent, sampled):
    env = ReachEnv(200, torch.Generator().manual_seed(99))
    obs = env.observe()
    for _ in range(env.limit):
        action, _, best = agent.actor(obs)
        obs, _, _ = env.step(action if sampled else best)
    return (env.goal - env.hand()).norm(dim=1).mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=1000)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    env = ReachEnv(16, torch.Generator().manual_seed(args.seed))
    agent = SAC(8, 2, args.lr)
    memory = Memory(20000, 8, 2)
    obs = env.observe()
    for it in range(args.steps + 20):
        with torch.no_grad():
            action = torch.rand(16, 2) * 2 - 1 if it < 20 else agent.actor(obs)[0]
        next_obs, reward, over = env.step(action)
        memory.add(obs, action, reward[:, None], next_obs)
        obs = env.reset(over) if over.any() else next_obs
        if it >= 20:
            critic_loss, entropy = agent.update(*memory.draw(128))
            if it % 200 == 19:
                print(f"{it:5d} critic {critic_loss:.3f} alpha {agent.log_alpha.exp().item():.3f} entropy {entropy:.2f}")
    print(
        f"EVIDENCE distance at the end: best action {evaluate(agent, False):.3f}, drawn action {evaluate(agent, True):.3f}; "
        f"alpha {agent.log_alpha.exp().item():.3f}, entropy {entropy:.2f}"
    )


if __name__ == "__main__":
    main()
