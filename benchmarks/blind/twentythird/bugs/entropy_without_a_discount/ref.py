# Soft actor-critic on a cart that is pushed towards a goal and may leave its track.
import argparse
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Track:
    """Position and speed; the goal is at 0, the track ends at +-2 and the episode with it (reward -5)."""

    def __init__(self, rng):
        self.rng, self.limit = rng, 40

    def reset(self):
        self.x, self.v, self.t = self.rng.uniform(-1.2, 1.2), self.rng.uniform(-0.5, 0.5), 0
        return self.observe()

    def observe(self):
        return np.array([self.x, self.v], dtype=np.float32)

    def step(self, action):
        self.v = 0.9 * self.v + 0.25 * float(np.clip(action, -1, 1))
        self.x += 0.3 * self.v + 0.02 * self.rng.gauss(0, 1)
        self.t += 1
        terminated = abs(self.x) > 2
        reward = -5.0 if terminated else -self.x ** 2 - 0.05 * action ** 2
        return self.observe(), reward, terminated, self.t >= self.limit


def mlp(i, o, width=48):
    return nn.Sequential(nn.Linear(i, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, o))


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(2, 2)

    def forward(self, obs):
        mean, log_std = self.net(obs).chunk(2, -1)
        normal = torch.distributions.Normal(mean, log_std.clamp(-5, 1).exp())
        raw = normal.rsample()
        log_prob = normal.log_prob(raw) - 2 * (np.log(2) - raw - F.softplus(-2 * raw))
        return torch.tanh(raw), log_prob, torch.tanh(mean)


class Agent:
    def __init__(self, args):
        self.gamma, self.tau, self.target_entropy = args.gamma, 0.02, -1.0
        self.actor, self.critics, self.targets = Actor(), nn.ModuleList([mlp(3, 1), mlp(3, 1)]), nn.ModuleList([mlp(3, 1), mlp(3, 1)])
        self.targets.load_state_dict(self.critics.state_dict())
        self.targets.requires_grad_(False)
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=args.lr)
        self.critic_opt = torch.optim.Adam(self.critics.parameters(), lr=args.lr)
        self.alpha_opt = torch.optim.Adam([self.log_alpha], lr=args.lr)

    def critic_loss(self, obs, action, reward, next_obs, mask):
        temperature = self.log_alpha.exp().detach()
        with torch.no_grad():
            next_action, next_log_prob, _ = self.actor(next_obs)
            target_next_min_q = torch.min(*(t(torch.cat([next_obs, next_action], -1)) for t in self.targets))
            target_q = reward + self.gamma * mask * (target_next_min_q - temperature * next_log_prob)
        predicted = [c(torch.cat([obs, action], -1)) for c in self.critics]
        return sum(F.mse_loss(q, target_q) for q in predicted), predicted[0].mean().item()

    def update(self, batch):
        loss, q = self.critic_loss(*batch)
        self.critic_opt.zero_grad()
        loss.backward()
        self.critic_opt.step()
        obs = batch[0]
        action, log_prob, _ = self.actor(obs)
        actor_loss = (self.log_alpha.exp().detach() * log_prob - torch.min(*(c(torch.cat([obs, action], -1)) for c in self.critics))).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()
        alpha_loss = -(self.log_alpha.exp() * (log_prob.detach() + self.target_entropy)).mean()
        self.alpha_opt.zero_grad()
        alpha_loss.backward()
        self.alpha_opt.step()
        with torch.no_grad():
            for p, t in zip(self.critics.parameters(), self.targets.parameters()):
                t.lerp_(p, self.tau)
        return loss.item(), q


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=700)
    parser.add_argument("--gamma", type=float, default=0.95)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    env, agent, memory = Track(rng), Agent(args), []
    obs, returns, total = env.reset(), [], 0.0
    for step in range(args.steps):
        with torch.no_grad():
            action = rng.uniform(-1, 1) if step < 100 else agent.actor(torch.from_numpy(obs)[None])[0].item()
        next_obs, reward, terminated, truncated = env.step(action)
        memory.append((obs, [action], [reward], next_obs, [1.0 - terminated]))
        obs, total = next_obs, total + reward
        if terminated or truncated:
            returns.append(total)
            obs, total = env.reset(), 0.0
        if step >= 100:
            batch = [torch.tensor(np.array(c), dtype=torch.float32) for c in zip(*rng.choices(memory, k=48))]
            loss, q = agent.update(batch)
            if step % 150 == 149:
                print(f"step {step + 1} critic {loss:.3f} q {q:.3f} alpha {agent.log_alpha.exp().item():.3f} return {returns[-1]:.2f}")
    ended = torch.tensor(np.array([m[0] for m in memory if m[4][0] == 0.0] or [memory[0][0]]))
    with torch.no_grad():
        at_end = agent.critics[0](torch.cat([ended, torch.sign(ended[:, :1])], -1)).mean().item()
    print(f"EVIDENCE alpha={agent.log_alpha.exp().item():.4f} q={q:.3f} q_at_the_edge={at_end:.3f} return={sum(returns[-4:]) / 4:.2f}")


if __name__ == "__main__":
    main()
