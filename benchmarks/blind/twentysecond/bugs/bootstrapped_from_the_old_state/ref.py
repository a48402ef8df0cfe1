"""Actor-critic for a carriage with a time limit; observations are whitened by running statistics, episodes restart by themselves."""
import argparse

import torch
import torch.nn as nn

ENVS, HORIZON, LIMIT, GAMMA, LAMBDA = 12, 30, 15, 0.95, 0.9


class Normaliser(nn.Module):
    """Running mean and variance of observations. They stand still in eval mode."""

    def __init__(self, size):
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("var", torch.ones(size))
        self.register_buffer("count", torch.tensor(1e-4))

    @torch.no_grad()
    def update(self, x):
        if not self.training:
            return
        n, mean, var = len(x), x.mean(0), x.var(0, unbiased=False)
        total, delta = self.count + n, mean - self.mean
        self.var.copy_((self.var * self.count + var * n + delta ** 2 * self.count * n / total) / total)
        self.mean += delta * n / total
        self.count.copy_(total)

    def forward(self, x):
        self.update(x)
        return ((x - self.mean) / (self.var + 1e-6).sqrt()).clamp(-6, 6)


class Carriages:
    """The carriage starts far to the left and should come to rest at 40. There is no end but the time limit."""

    def __init__(self, count, gen, spread=5.0):
        self.count, self.gen, self.spread = count, gen, spread
        self.x, self.v = torch.zeros(count), torch.zeros(count)
        self.age = torch.zeros(count, dtype=torch.long)
        self.begin(torch.ones(count, dtype=torch.bool))
        self.age = torch.randint(0, LIMIT, (count,), generator=gen)

    def begin(self, which):
        n = int(which.sum())
        self.x[which] = self.spread * torch.randn(n, generator=self.gen)
        self.v[which], self.age[which] = 0.0, 0

    def observe(self):
        return torch.stack([self.x, self.v], 1)

    def step(self, force):
        self.v = 0.8 * self.v + 2.0 * force.clamp(-2, 2)
        self.x = self.x + self.v
        reward = -(self.x - 40).abs() / 40
        self.age += 1
        timeout = self.age >= LIMIT
        final_obs = self.observe()
        self.begin(timeout)
        return self.observe(), reward, timeout, final_obs


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = Normaliser(2)
        self.actor = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
        self.critic = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.tensor(-0.3))

    def forward(self, obs):
        x = self.norm(obs)
        return torch.distributions.Normal(self.actor(x).squeeze(1), self.log_std.exp()), 6 * self.critic(x).squeeze(1)

    def value(self, obs):
        was = self.norm.training
        self.norm.eval()
        value = 6 * self.critic(self.norm(obs)).squeeze(1)
        self.norm.train(was)
        return value


@torch.no_grad()
def collect(agent, envs, obs):
    rows = []
    for _ in range(HORIZON):
        dist, value = agent(obs)
        action = dist.sample()
        next_obs, reward, timeout, final_obs = envs.step(action)
        reward = reward + GAMMA * agent.value(final_obs) * timeout
        rows.append((obs, action, dist.log_prob(action), value, reward, timeout))
        obs = next_obs
    return [torch.stack(x) for x in zip(*rows)], agent.value(obs), obs


def gae(values, rewards, timeouts, last_value):
    """A cut episode has the value of its last observation in the last reward, and nothing comes after it."""
    advantages, running, next_value = torch.zeros_like(rewards), torch.zeros(ENVS), last_value
    for t in reversed(range(HORIZON)):
        goes_on = 1 - timeouts[t].float()
        running = rewards[t] + GAMMA * next_value * goes_on - values[t] + GAMMA * LAMBDA * goes_on * running
        advantages[t], next_value = running, values[t]
    return advantages


@torch.no_grad()
def evaluate(agent, seed):
    """Easy starts, nearer to the goal than those of training."""
    agent.eval()
    envs, total = Carriages(ENVS, torch.Generator().manual_seed(seed), spread=0.5), 0.0
    envs.x, envs.age = envs.x + 42.0, torch.zeros(ENVS, dtype=torch.long)
    for _ in range(LIMIT - 1):
        _, reward, _, _ = envs.step(agent(envs.observe())[0].mean)
        total += reward.mean().item() / (LIMIT - 1)
    agent.train()
    return total


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=50)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    agent, envs = Agent(), Carriages(ENVS, torch.Generator().manual_seed(args.seed))
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.lr)
    obs, score = envs.observe(), []
    for step in range(args.steps):
        (o, a, old, values, rewards, timeouts), last_value, obs = collect(agent, envs, obs)
        advantages = gae(values, rewards, timeouts, last_value)
        returns = (advantages + values).flatten()
        normal = ((advantages - advantages.mean()) / (advantages.std() + 1e-8)).flatten()
        agent.norm.eval()
        for _ in range(4):
            dist, value = agent(o.flatten(0, 1))
            ratio = (dist.log_prob(a.flatten()) - old.flatten()).exp()
            gain = torch.minimum(ratio * normal, ratio.clamp(0.8, 1.2) * normal).mean()
            loss = -gain + 0.1 * (value - returns).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 1.0)
            optimizer.step()
        agent.norm.train()
        score.append((envs.x - 40).abs().mean().item())
        if step % 10 == 9:
            print(f"step {step + 1} distance {score[-1]:.2f} test {evaluate(agent, 9):.3f} seen {agent.norm.count.item():.0f}")
    goal_value = agent.value(torch.tensor([[40.0, 0.0]])).item()
    print(f"EVIDENCE mean={agent.norm.mean[0].item():.3f} seen={agent.norm.count.item():.0f} "
          f"value_at_goal={goal_value:.3f} test={evaluate(agent, 9):.4f}")


if __name__ == "__main__":
    main()
