"""PPO from scratch on a small cart task with a time limit."""
import argparse

import numpy as np
import torch
import torch.nn as nn

LIMIT = 20


class CartTask:
    """Keep a cart near the middle; the track ends at 2, the clock at LIMIT."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.x, self.v = self.rng.uniform(-0.5, 0.5, 2)
        self.t = 0
        return self._obs()

    def _obs(self):
        return np.array([self.x, self.v], dtype=np.float32)

    def step(self, action):
        force = (-1.0, 1.0)[action]
        self.v += 0.15 * force + 0.05 * self.rng.standard_normal()
        self.x += 0.15 * self.v
        self.t += 1
        terminated = bool(abs(self.x) > 2.0)
        truncated = self.t >= LIMIT and not terminated
        reward = 1.0 - 0.25 * self.x ** 2
        return self._obs(), reward, terminated, truncated


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
        self.value = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))

    def dist(self, obs):
        return torch.distributions.Categorical(logits=self.policy(obs))


def collect(env, model, n):
    """Returns a rollout; next_value is the value of the state after each step."""
    obs = env.reset()
    rows = []
    for _ in range(n):
        with torch.no_grad():
            o = torch.from_numpy(obs)
            dist = model.dist(o)
            action = dist.sample()
            value = model.value(o).item()
            logp = dist.log_prob(action).item()
            nxt, reward, terminated, truncated = env.step(action.item())
            next_value = model.value(torch.from_numpy(nxt)).item()
        rows.append((obs, action.item(), logp, value, reward, next_value, terminated, truncated))
        obs = env.reset() if terminated or truncated else nxt
    return rows


def compute_gae(rows, gamma, lam):
    advantages = np.zeros(len(rows), dtype=np.float32)
    gae = 0.0
    for t in reversed(range(len(rows))):
        _, _, _, value, reward, next_value, terminated, truncated = rows[t]
        delta = reward + gamma * next_value * (1 - terminated) - value
        gae = delta + gamma * lam * (1 - (terminated or truncated)) * gae
        advantages[t] = gae
    return advantages


def update(model, optimizer, rows, gamma, lam, clip=0.2, epochs=4):
    adv = torch.from_numpy(compute_gae(rows, gamma, lam))
    obs = torch.from_numpy(np.stack([r[0] for r in rows]))
    act = torch.tensor([r[1] for r in rows])
    old = torch.tensor([r[2] for r in rows])
    ret = adv + torch.tensor([r[3] for r in rows])
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for _ in range(epochs):
        dist = model.dist(obs)
        ratio = (dist.log_prob(act) - old).exp()
        policy_loss = -torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv).mean()
        value_loss = (model.value(obs).squeeze(-1) - ret).pow(2).mean()
        loss = policy_loss + 0.5 * value_loss - 0.01 * dist.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
    return policy_loss.item(), value_loss.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--gamma", type=float, default=0.97)
    parser.add_argument("--lam", type=float, default=0.95)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    env = CartTask(args.seed)
    model = ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(args.steps):
        rows = collect(env, model, 256)
        p, v = update(model, optimizer, rows, args.gamma, args.lam)
        mean_reward = sum(r[4] for r in rows) / len(rows)
        print(f"update {step} policy_loss {p:.6f} value_loss {v:.6f} reward {mean_reward:.4f}")
    print("weight sum", sum(p.double().sum().item() for p in model.parameters()))


if __name__ == "__main__":
    main()
