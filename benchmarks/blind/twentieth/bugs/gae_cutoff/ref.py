"""PPO for a valve that holds a tank level; episodes are cut off after a fixed number of ticks."""
import argparse
import math

import torch
from torch import nn

HORIZON, ENVS, ROLLOUT = 25, 16, 100
GAMMA, LAM = 0.97, 0.95


class Tank:
    """Level near 0 pays about 1 per tick. An overflow terminates; the clock only truncates."""

    def __init__(self, gen):
        self.gen = gen
        self.level, self.clock = self.fresh(ENVS), torch.randint(HORIZON, (ENVS,), generator=gen)

    def fresh(self, n):
        return torch.rand(n, generator=self.gen) * 2 - 1

    def obs(self):
        return torch.stack([self.level, self.level ** 2], 1)

    def step(self, action):
        noise = 0.05 * torch.randn(ENVS, generator=self.gen)
        self.level = self.level + 0.2 * action.clamp(-1, 1) + noise
        self.clock = self.clock + 1
        reward = torch.exp(-self.level ** 2)
        terminated = self.level.abs() > 2.5
        truncated = (self.clock >= HORIZON) & ~terminated
        final_obs = self.obs()
        over = terminated | truncated
        self.level = torch.where(over, self.fresh(ENVS), self.level)
        self.clock = torch.where(over, torch.zeros_like(self.clock), self.clock)
        return self.obs(), final_obs, reward, terminated, truncated


def compute_gae(rewards, values, next_values, terminated, truncated):
    """Bootstraps over a cut-off, stops the chain at each end of an episode."""
    advantages, running = torch.zeros_like(rewards), torch.zeros(ENVS)
    not_terminated = terminated.logical_not().float()
    not_done = (terminated | truncated).logical_not().float()
    for i in reversed(range(len(rewards))):
        delta = rewards[i] + GAMMA * not_terminated[i] * next_values[i] - values[i]
        running = delta + GAMMA * LAM * not_done[i] * running
        advantages[i] = running
    return advantages, advantages + values


def mlp(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, n_out))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=25)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    actor, critic = mlp(2, 1), mlp(2, 1)
    log_std = nn.Parameter(torch.tensor(-0.5))
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters(), log_std], lr=args.lr)

    def logp(obs, action):
        mean = actor(obs).squeeze(-1)
        return -0.5 * ((action - mean) / log_std.exp()) ** 2 - log_std - 0.5 * math.log(2 * math.pi)

    tank = Tank(gen)
    obs = tank.obs()
    for update in range(args.steps):
        memory = []
        with torch.no_grad():
            for _ in range(ROLLOUT):
                action = actor(obs).squeeze(-1) + log_std.exp() * torch.randn(ENVS, generator=gen)
                nxt, final_obs, reward, terminated, truncated = tank.step(action)
                memory.append((obs, action, logp(obs, action), reward, critic(obs).squeeze(-1),
                               critic(final_obs).squeeze(-1), terminated, truncated))
                obs = nxt
        o, a, old, r, v, nv, term, trunc = map(torch.stack, zip(*memory))
        adv, returns = compute_gae(r, v, nv, term, trunc)
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        for _ in range(6):
            for idx in torch.randperm(ROLLOUT * ENVS, generator=gen).split(400):
                flat = lambda t: t.flatten(0, 1)[idx]
                ratio = (logp(flat(o), flat(a)) - flat(old)).exp()
                policy_loss = -torch.min(ratio * flat(adv), ratio.clamp(0.8, 1.2) * flat(adv)).mean()
                value_loss = (critic(flat(o)).squeeze(-1) - flat(returns)).pow(2).mean()
                loss = policy_loss + 0.5 * value_loss
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters(), log_std], 1.0)
                optimizer.step()
        if update % 8 == 0:
            print(f"update {update} reward {r.mean():.3f} value {v.mean():.2f} loss {loss.item():.3f}")
    endless = r.mean().item() / (1 - GAMMA)
    print(f"EVIDENCE value={v.mean():.2f} reward_without_end={endless:.2f} share={v.mean().item() / endless:.3f}")


if __name__ == "__main__":
    main()
