"""PPO with a Gaussian policy on a vectorised point-to-goal task; epochs over a rollout stop when the KL gets too large."""
import argparse

import torch
from torch import nn
from torch.distributions import Normal


class PointEnv:
    """n points in the plane, each pushed by its action towards its goal; ends at the goal or after 25 moves (truncation)."""

    def __init__(self, n):
        self.n, self.pos, self.goal, self.t = n, torch.zeros(n, 2), torch.zeros(n, 2), torch.zeros(n)
        self._reset(torch.ones(n, dtype=torch.bool))

    def _reset(self, mask):
        k = int(mask.sum())
        self.pos[mask], self.goal[mask], self.t[mask] = 2 * torch.rand(k, 2) - 1, 2 * torch.rand(k, 2) - 1, 0.0

    def obs(self):
        return torch.cat([self.pos, self.goal - self.pos], 1)

    def step(self, action):
        before = (self.goal - self.pos).norm(dim=1)
        self.pos = (self.pos + 0.2 * action.clamp(-1, 1) + 0.02 * torch.randn(self.n, 2)).clamp(-1.5, 1.5)
        after = (self.goal - self.pos).norm(dim=1)
        self.t += 1
        terminated = after < 0.15
        truncated = (self.t >= 25) & ~terminated
        reward = before - after + terminated.float()
        last_obs = self.obs()
        self._reset(terminated | truncated)
        return self.obs(), reward, terminated, truncated, last_obs


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        net = lambda out: nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, out))
        self.mu, self.v, self.log_std = net(2), net(1), nn.Parameter(torch.zeros(2))

    def dist(self, obs):
        return Normal(self.mu(obs), self.log_std.exp())

    def value(self, obs):
        return self.v(obs).squeeze(-1)


@torch.no_grad()
def rollout(env, agent, length, gamma=0.98, lam=0.95):
    obs, keep = env.obs(), {k: [] for k in ("obs", "act", "logp", "val", "rew", "end", "next_val")}
    finished, reached = 0, 0
    for _ in range(length):
        dist = agent.dist(obs)
        act = dist.sample()
        new_obs, rew, terminated, truncated, last = env.step(act)
        next_val = torch.where(terminated, torch.zeros_like(rew), agent.value(last))
        end = terminated | truncated
        for k, v in zip(keep, (obs, act, dist.log_prob(act).sum(1), agent.value(obs), rew, end.float(), next_val)):
            keep[k].append(v)
        finished, reached = finished + int(end.sum()), reached + int(terminated.sum())
        obs = new_obs
    data = {k: torch.stack(v) for k, v in keep.items()}
    adv, running = torch.zeros_like(data["rew"]), torch.zeros(env.n)
    for i in reversed(range(length)):
        delta = data["rew"][i] + gamma * data["next_val"][i] - data["val"][i]
        running = delta + gamma * lam * (1 - data["end"][i]) * running
        adv[i] = running
    data["adv"], data["ret"] = adv, adv + data["val"]
    return {k: v.flatten(0, 1) for k, v in data.items()}, reached / max(finished, 1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=25, help="number of rollouts")
    ap.add_argument("--target-kl", type=float, default=0.03)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    env, agent = PointEnv(16), ActorCritic()
    opt = torch.optim.Adam(agent.parameters(), lr=args.lr, eps=1e-5)
    for it in range(1, args.steps + 1):
        data, success = rollout(env, agent, 32)
        n, epochs, kl = len(data["rew"]), 0, 0.0
        while epochs < 6 and kl < args.target_kl:
            kls = []
            for idx in torch.randperm(n).split(128):
                dist = agent.dist(data["obs"][idx])
                logp = dist.log_prob(data["act"][idx]).sum(1)
                log_ratio = logp - data["logp"][idx]
                ratio, adv = log_ratio.exp(), data["adv"][idx]
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                policy_loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
                value_loss = 0.5 * (agent.value(data["obs"][idx]) - data["ret"][idx]).pow(2).mean()
                loss = policy_loss + 0.5 * value_loss - 0.001 * dist.entropy().sum(1).mean()
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                opt.step()
                kls.append(((ratio - 1) - log_ratio).mean().item())
            kl, epochs = sum(kls) / len(kls), epochs + 1
        if it % 5 == 0 or it == 1:
            print(f"rollout {it}: reward {data['rew'].mean():.4f}, at the goal {success:.2f}, "
                  f"value loss {value_loss.item():.4f}, {epochs} epochs, kl {kl:.4f}, "
                  f"std {agent.log_std.exp().mean().item():.3f}")


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
