"""A2C for a sorting arm: observations are normalised with running statistics, tests run now and then."""
import argparse

import torch
from torch import nn
import torch.nn.functional as F


class RunningStats:
    def __init__(self, dim):
        self.mean, self.var, self.count = torch.zeros(dim), torch.ones(dim), 1e-4

    def update(self, x):
        m, v, n = x.mean(0), x.var(0, unbiased=False), x.size(0)
        total = self.count + n
        delta = m - self.mean
        second = self.var * self.count + v * n + delta ** 2 * self.count * n / total
        self.mean, self.var, self.count = self.mean + delta * n / total, second / total, total


class NormalisedEnv:
    """Vector environment with a normaliser; the statistics move only while `training` is set."""

    def __init__(self, env, stats=None, training=True):
        self.env = env
        self.stats = stats or RunningStats(env.dim)
        self.training = training

    def _norm(self, obs):
        if self.training:
            self.stats.update(obs)
        return ((obs - self.stats.mean) / (self.stats.var + 1e-8).sqrt()).clamp(-10, 10)

    def reset(self):
        return self._norm(self.env.reset())

    def step(self, action):
        obs, reward = self.env.step(action)
        return self._norm(obs), reward


class Belt:
    """An item shows weight, size and belt speed in raw units; the bin depends on weight and size."""

    dim = 3

    def __init__(self, gen, n, stress=0.0):
        self.gen, self.n, self.stress = gen, n, stress

    def reset(self):
        raw = torch.randn(self.n, 3, generator=self.gen)
        self.bin = (raw[:, 0] > 0).long() + 2 * (raw[:, 1] > 0).long()
        self.obs = raw * torch.tensor([40.0, 3.0, 0.2]) + torch.tensor([300.0, 20.0, 1.0 + self.stress])
        return self.obs

    def step(self, action):
        reward = (action == self.bin).float()
        return self.reset(), reward


class ArmPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
        self.pi, self.v = nn.Linear(32, 4), nn.Linear(32, 1)

    def forward(self, obs):
        h = self.body(obs)
        return self.pi(h).log_softmax(-1), self.v(h).squeeze(-1)


@torch.no_grad()
def evaluate(policy, env, ticks=30):
    obs, total = env.reset(), 0.0
    for _ in range(ticks):
        obs, reward = env.step(policy(obs)[0].argmax(-1))
        total += reward.mean().item() / ticks
    return total


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=400)
    ap.add_argument("--eval_every", type=int, default=30)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    envs = NormalisedEnv(Belt(gen, 32))
    stress_belt = Belt(torch.Generator().manual_seed(99), 64, stress=8.0)
    test_envs = NormalisedEnv(stress_belt, stats=envs.stats, training=False)
    policy = ArmPolicy()
    opt = torch.optim.Adam(policy.parameters(), lr=args.lr)
    obs = envs.reset()
    for step in range(1, args.steps + 1):
        logp, value = policy(obs)
        action = torch.multinomial(logp.detach().exp(), 1, generator=gen).squeeze(1)
        obs, reward = envs.step(action)
        adv = reward - value
        picked = logp.gather(1, action[:, None]).squeeze(1)
        entropy = -(logp.exp() * logp).sum(-1).mean()
        loss = -(picked * adv.detach()).mean() + 0.5 * adv.pow(2).mean() - 0.01 * entropy
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % args.eval_every == 0:
            score = evaluate(policy, test_envs)
            if step % (5 * args.eval_every) == 0:
                print(f"step {step} reward {reward.mean():.3f} stress test {score:.3f}")
    expected = 32 * (args.steps + 1)
    speed = envs.stats.mean[2].item()
    print(f"EVIDENCE frames_in_statistics={envs.stats.count:.0f}/{expected} mean_speed={speed:.3f} (true 1.0)")


if __name__ == "__main__":
    main()
