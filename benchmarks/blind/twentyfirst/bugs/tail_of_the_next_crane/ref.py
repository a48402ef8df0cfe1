"""PPO on a small crane: many cranes at once are stepped, each starts again by itself when its load falls or arrives."""
import argparse

import torch
import torch.nn as nn
from torch.distributions import Categorical


class Cranes:
    """Position and swing of a load on a rail; the goal is drawn, a strong swing drops the load."""

    def __init__(self, n, gen):
        self.n, self.gen = n, gen
        self.x, self.v = torch.zeros(n), torch.zeros(n)
        self.goal = torch.zeros(n)
        self.reset(torch.ones(n, dtype=torch.bool))

    def reset(self, which):
        k = int(which.sum())
        self.x[which] = torch.rand(k, generator=self.gen) * 2 - 1
        self.v[which] = 0.0
        self.goal[which] = torch.rand(k, generator=self.gen) * 2 - 1
        return self.observe()

    def observe(self):
        return torch.stack([self.x, self.v, self.goal, self.goal - self.x], 1)

    def step(self, action):
        self.v = 0.9 * self.v + 0.12 * (action.float() - 1) + 0.03 * torch.randn(self.n, generator=self.gen)
        self.x = self.x + 0.3 * self.v
        distance = (self.x - self.goal).abs()
        fell = (self.v.abs() > 0.55) | (self.x.abs() > 1.6)
        arrived = (distance < 0.08) & (self.v.abs() < 0.15)
        reward = -0.1 * distance - 4.0 * fell.float() + 2.0 * arrived.float()
        done = fell | arrived
        self.reset(done)
        return self.observe(), reward, done.float()


class ActorCritic(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 3))
        self.critic = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 1))

    def evaluate(self, obs, action=None):
        dist = Categorical(logits=self.actor(obs))
        action = dist.sample() if action is None else action
        return action, dist.log_prob(action), dist.entropy(), self.critic(obs).squeeze(-1)


def rollout(env, agent, obs, done, length):
    store = {k: [] for k in ("obs", "actions", "logps", "values", "rewards", "dones")}
    for _ in range(length):
        store["obs"].append(obs)
        store["dones"].append(done)
        with torch.no_grad():
            action, logp, _, value = agent.evaluate(obs)
        obs, reward, done = env.step(action)
        for key, item in (("actions", action), ("logps", logp), ("values", value), ("rewards", reward)):
            store[key].append(item)
    return {k: torch.stack(v) for k, v in store.items()}, obs, done


def gae(store, last_value, last_done, gamma=0.98, lam=0.95):
    """dones[t] says that obs[t] is the first one of an episode."""
    rewards, values, dones = store["rewards"], store["values"], store["dones"]
    length, n = rewards.shape
    advantages = torch.zeros_like(rewards)
    for env in range(n):
        running = 0.0
        for t in reversed(range(length)):
            last = t == length - 1
            going_on = 1.0 - (last_done[env] if last else dones[t + 1, env])
            next_value = last_value[env] if last else values[t + 1, env]
            delta = rewards[t, env] + gamma * next_value * going_on - values[t, env]
            running = delta + gamma * lam * going_on * running
            advantages[t, env] = running
    return advantages, advantages + values


def update(agent, optimizer, store, advantages, returns, clip=0.2, epochs=3, minibatches=4):
    flat = {k: v.flatten(0, 1) for k, v in store.items()}
    adv, ret = advantages.flatten(), returns.flatten()
    for _ in range(epochs):
        for idx in torch.randperm(len(adv)).chunk(minibatches):
            _, logp, entropy, value = agent.evaluate(flat["obs"][idx], flat["actions"][idx])
            a = (adv[idx] - adv[idx].mean()) / (adv[idx].std() + 1e-8)
            ratio = (logp - flat["logps"][idx]).exp()
            policy_loss = -torch.min(ratio * a, ratio.clamp(1 - clip, 1 + clip) * a).mean()
            value_loss = 0.5 * (value - ret[idx]).pow(2).mean()
            loss = policy_loss + 0.5 * value_loss - 0.01 * entropy.mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2.5e-3)
    ap.add_argument("--steps", type=int, default=24, help="rollouts")
    ap.add_argument("--envs", type=int, default=12)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    env = Cranes(args.envs, torch.Generator().manual_seed(args.seed))
    agent = ActorCritic()
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.lr, eps=1e-5)
    critic_start = torch.cat([p.detach().flatten() for p in agent.critic.parameters()])
    obs, done = env.observe(), torch.zeros(args.envs)
    at_end, kept = 0.0, 0
    for it in range(args.steps):
        store, obs, done = rollout(env, agent, obs, done, 32)
        with torch.no_grad():
            last_value = agent.critic(obs).squeeze(-1)
        advantages, returns = gae(store, last_value, done)
        fell = store["rewards"] < -2.0
        at_end += returns[fell].sum().item()
        kept += int(fell.sum())
        update(agent, optimizer, store, advantages, returns)
        if it % 6 == 0:
            print(f"rollout {it} reward {store['rewards'].mean():.4f} value {store['values'].mean():.3f}")
    critic = torch.cat([p.detach().flatten() for p in agent.critic.parameters()])
    print(f"EVIDENCE return_of_a_fall={at_end / max(kept, 1):.3f} critic_moved={(critic - critic_start).norm():.4f}"
          f" reward={store['rewards'].mean():.4f}")


if __name__ == "__main__":
    main()
