"""Twin critics with three-step returns (TD3) for a boat on a line; transitions are kept by environment in one ring."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class Boats:
    """Reward near the buoy at x = 1; a start is drawn every 40 steps, which is no end of the task."""

    def __init__(self, n):
        self.n, self.x, self.v, self.t = n, torch.zeros(n), torch.zeros(n), torch.randint(0, 40, (n,))

    def obs(self):
        return torch.stack([self.x, self.v], 1)

    def step(self, action):
        self.v = 0.8 * self.v + 0.2 * action[:, 0].clamp(-1, 1)
        self.x = (self.x + self.v * 0.5).clamp(-2, 2)
        self.t += 1
        reward = torch.exp(-4 * (self.x - 1) ** 2)
        after, truncated = self.obs(), self.t >= 40
        self.x = torch.where(truncated, torch.rand(self.n) * 2 - 1.5, self.x)
        self.v, self.t = torch.where(truncated, 0.0, self.v), torch.where(truncated, 0, self.t)
        return after, reward, truncated


class NStepBuffer:
    def __init__(self, size, n_env, n_steps, gamma):
        self.size, self.n_steps, self.gamma, self.ptr = size, n_steps, gamma, 0
        self.obs, self.next_obs = torch.zeros(n_env, size, 2), torch.zeros(n_env, size, 2)
        self.actions = torch.zeros(n_env, size, 1)
        self.rewards, self.truncated = torch.zeros(n_env, size), torch.zeros(n_env, size, dtype=torch.bool)

    def add(self, *columns):
        for name, column in zip(("obs", "actions", "rewards", "next_obs", "truncated"), columns):
            getattr(self, name)[:, self.ptr] = column
        self.ptr += 1

    def sample(self, n):
        env = torch.randint(0, len(self.obs), (n,))
        first = torch.randint(0, self.ptr - self.n_steps + 1, (n,))
        reward, steps, alive = torch.zeros(n), torch.zeros(n), torch.ones(n)
        last = first.clone()
        for k in range(self.n_steps):
            at = first + k
            reward += alive * self.gamma ** k * self.rewards[env, at]
            last = torch.where(alive > 0, at, last)
            steps += alive
            alive = alive * (~self.truncated[env, at])
        return {"obs": self.obs[env, first], "action": self.actions[env, first], "reward": reward,
                "next_obs": self.next_obs[env, last], "effective_n_steps": steps}


def net(i, o, last=None, width=48):
    layers = [nn.Linear(i, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, o)]
    return nn.Sequential(*layers, *([last] if last else []))


def soft_update(target, source, tau):
    with torch.no_grad():
        for t, s in zip(target.parameters(), source.parameters()):
            t.lerp_(s, tau)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=500)
    ap.add_argument("--gamma", type=float, default=0.9)
    ap.add_argument("--n-steps", type=int, default=3)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    env = Boats(8)
    buffer = NStepBuffer(args.steps, env.n, args.n_steps, args.gamma)
    actor, actor_target = net(2, 1, nn.Tanh()), net(2, 1, nn.Tanh())
    critics = nn.ModuleList(net(3, 1) for _ in range(2))
    critic_targets = nn.ModuleList(net(3, 1) for _ in range(2))
    actor_target.load_state_dict(actor.state_dict())
    critic_targets.load_state_dict(critics.state_dict())
    actor_optimizer = torch.optim.Adam(actor.parameters(), lr=args.lr)
    critic_optimizer = torch.optim.Adam(critics.parameters(), lr=args.lr)
    rewards, values = [], []
    for step in range(args.steps):
        obs = env.obs()
        with torch.no_grad():
            action = (actor(obs) + 0.3 * torch.randn(env.n, 1)).clamp(-1, 1) if step > 40 else torch.rand(env.n, 1) * 2 - 1
        after, reward, truncated = env.step(action)
        buffer.add(obs, action, reward, after, truncated)
        rewards.append(reward.mean().item())
        if step < 40:
            continue
        data = buffer.sample(64)
        with torch.no_grad():
            noise = (0.2 * torch.randn(64, 1)).clamp(-0.4, 0.4)
            x = torch.cat([data["next_obs"], (actor_target(data["next_obs"]) + noise).clamp(-1, 1)], 1)
            next_q = torch.min(critic_targets[0](x), critic_targets[1](x)).squeeze(1)
            target = data["reward"] + args.gamma ** data["effective_n_steps"] * next_q
        x = torch.cat([data["obs"], data["action"]], 1)
        qf_loss = sum(F.mse_loss(c(x).squeeze(1), target) for c in critics)
        critic_optimizer.zero_grad()
        qf_loss.backward()
        critic_optimizer.step()
        if step % 2 == 0:
            actor_loss = -critics[0](torch.cat([data["obs"], actor(data["obs"])], 1)).mean()
            actor_optimizer.zero_grad()
            actor_loss.backward()
            actor_optimizer.step()
            soft_update(actor_target, actor, 0.03)
            soft_update(critic_targets, critics, 0.03)
        values.append(target.mean().item())
        if step % 100 == 99:
            print(f"step {step + 1} critic {qf_loss.item():.4f} value {values[-1]:.3f} reward {rewards[-1]:.3f}")
    bound = 1 / (1 - args.gamma)
    print(f"EVIDENCE value={sum(values[-30:]) / 30:.3f} largest_possible={bound:.1f} reward={sum(rewards[-60:]) / 60:.3f}")


if __name__ == "__main__":
    main()
