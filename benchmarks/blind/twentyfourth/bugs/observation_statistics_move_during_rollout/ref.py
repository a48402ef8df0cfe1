"""PPO for a continuous control toy with running observation normalisation inside the actor-critic."""
import argparse

import torch
import torch.nn as nn

OBS, ENVS, HORIZON = 3, 16, 24


class PointEnv:
    """A point with velocity is to be pushed to the origin; the coordinates have very different scales."""

    def __init__(self, gen):
        self.gen, self.scale = gen, torch.tensor([1.0, 12.0, 0.05])
        self.pos, self.vel = torch.zeros(ENVS), torch.zeros(ENVS)
        self.age = torch.zeros(ENVS)
        self.restart(torch.ones(ENVS, dtype=torch.bool))

    def restart(self, which):
        self.pos = torch.where(which, torch.rand(ENVS, generator=self.gen) * 4 - 1, self.pos)
        self.vel = torch.where(which, torch.zeros(ENVS), self.vel)
        self.age = torch.where(which, torch.zeros(ENVS), self.age)

    def observe(self):
        return torch.stack([self.pos, self.vel, self.age], dim=1) * self.scale

    def step(self, action):
        self.vel = 0.8 * self.vel + 0.2 * action.clamp(-2, 2)
        self.pos = self.pos + 0.3 * self.vel
        self.age = self.age + 1
        reward = -self.pos.abs() - 0.02 * action.square()
        done = self.age >= 40
        self.restart(done)
        return self.observe(), reward, done.float()


class EmpiricalNormalization(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("var", torch.ones(size))
        self.count = 0

    def forward(self, x):
        return (x - self.mean) / (self.var.sqrt() + 1e-2)

    @torch.no_grad()
    def update(self, x):
        self.count += len(x)
        rate = len(x) / self.count
        delta = x.mean(0) - self.mean
        self.mean += rate * delta
        self.var += rate * (x.var(0, unbiased=False) - self.var + delta * (x.mean(0) - self.mean))


class ActorCritic(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.normalizer = EmpiricalNormalization(OBS)
        self.actor = nn.Sequential(nn.Linear(OBS, width), nn.Tanh(), nn.Linear(width, 1))
        self.critic = nn.Sequential(nn.Linear(OBS, width), nn.Tanh(), nn.Linear(width, 1))
        self.log_std = nn.Parameter(torch.full((1,), -0.5))

    def distribution(self, obs):
        return torch.distributions.Normal(self.actor(self.normalizer(obs)).squeeze(-1), self.log_std.exp())

    def value(self, obs):
        return self.critic(self.normalizer(obs)).squeeze(-1)


class PPO:
    def __init__(self, policy, lr, gamma=0.97, lam=0.95, clip=0.2):
        self.policy, self.gamma, self.lam, self.clip = policy, gamma, lam, clip
        self.optimizer = torch.optim.Adam(policy.parameters(), lr=lr)
        self.storage, self.first_ratio_gaps = [], []

    @torch.no_grad()
    def act(self, obs):
        dist = self.policy.distribution(obs)
        action = dist.sample()
        self.transition = [obs, action, dist.log_prob(action), self.policy.value(obs)]
        return action

    def process_env_step(self, reward, done):
        self.storage.append(self.transition + [reward, done])

    def update(self, last_obs):
        obs, action, old_logp, value, reward, done = [torch.stack(x) for x in zip(*self.storage)]
        with torch.no_grad():
            next_value, advantage, gae = self.policy.value(last_obs), torch.zeros_like(reward), 0.0
            for t in reversed(range(len(reward))):
                delta = reward[t] + self.gamma * next_value * (1 - done[t]) - value[t]
                gae = delta + self.gamma * self.lam * (1 - done[t]) * gae
                advantage[t], next_value = gae, value[t]
            returns = advantage + value
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        for epoch in range(4):
            dist = self.policy.distribution(obs)
            ratio = (dist.log_prob(action) - old_logp).exp()
            if epoch == 0:
                self.first_ratio_gaps.append((ratio - 1).abs().max().item())
            surrogate = torch.min(ratio * advantage, ratio.clamp(1 - self.clip, 1 + self.clip) * advantage)
            value_loss = (self.policy.value(obs) - returns).square().mean()
            loss = -surrogate.mean() + 0.5 * value_loss - 0.002 * dist.entropy().mean()
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0)
            self.optimizer.step()
        # statistics stay as they were in the rollout until all epochs are done
        self.policy.normalizer.update(obs.flatten(0, 1))
        self.storage.clear()
        return reward.mean().item(), value_loss.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    env = PointEnv(torch.Generator().manual_seed(args.seed))
    ppo, obs, rewards = PPO(ActorCritic(), args.lr), env.observe(), []
    for iteration in range(args.steps):
        for _ in range(HORIZON):
            obs, reward, done = env.step(ppo.act(obs))
            ppo.process_env_step(reward, done)
        mean_reward, value_loss = ppo.update(obs)
        rewards.append(mean_reward)
        if iteration % 8 == 0:
            print(f"iteration {iteration} reward {mean_reward:.3f} value_loss {value_loss:.3f}")
    print(f"EVIDENCE first_ratio_gap={max(ppo.first_ratio_gaps):.6f} reward={sum(rewards[-5:]) / len(rewards[-5:]):.4f}")


if __name__ == "__main__":
    main()
