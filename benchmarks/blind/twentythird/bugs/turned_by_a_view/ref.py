"""REINFORCE with reward-to-go over many small mazes at once: tensors are [steps, environments]."""
import argparse

import torch
import torch.nn as nn
from torch.distributions import Categorical

SIZE, HORIZON = 5, 18


class Mazes:
    """Walkers on a board of 5 x 5; the goal is in a corner that each walker is told. A step costs 0.1, the goal pays 2."""

    def __init__(self, n, gen):
        self.n, self.gen = n, gen
        self.moves = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])

    def reset(self, which=None):
        which = torch.ones(self.n, dtype=torch.bool) if which is None else which
        if not hasattr(self, "at"):
            self.at, self.goal = torch.zeros(self.n, 2, dtype=torch.long), torch.zeros(self.n, 2, dtype=torch.long)
        k = int(which.sum())
        self.at[which] = torch.randint(0, SIZE, (k, 2), generator=self.gen)
        self.goal[which] = torch.randint(0, 2, (k, 2), generator=self.gen) * (SIZE - 1)
        return self.observe()

    def observe(self):
        return torch.cat([self.at / 2.0 - 1, self.goal / 2.0 - 1], dim=1)

    def step(self, action):
        self.at = (self.at + self.moves[action]).clamp(0, SIZE - 1)
        done = (self.at == self.goal).all(1)
        reward = torch.where(done, 2.0, -0.1)
        if done.any():
            self.reset(done)
        return self.observe(), reward, done


def reward2go(reward, done, gamma, time_dim=0):
    """Discounted sums up to the end of each episode. Works on [environments, steps] within."""
    shape = reward.shape
    if time_dim != -1:
        reward, done = reward.transpose(-2, -1), done.transpose(-2, -1)
    total = torch.zeros(reward.shape[0])
    columns = []
    for t in reversed(range(reward.shape[1])):
        total = reward[:, t] + gamma * total * (~done[:, t])
        columns.append(total)
    out = torch.stack(columns[::-1], dim=1)
    if time_dim != -1:
        out = out.transpose(-2, -1)
    assert out.shape == shape
    return out


class Policy(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 4))


def collect(policy, mazes, obs):
    rows = {k: [] for k in ("obs", "action", "reward", "done")}
    with torch.no_grad():
        for _ in range(HORIZON):
            action = Categorical(logits=policy(obs)).sample()
            following, reward, done = mazes.step(action)
            for key, value in zip(rows, (obs, action, reward, done)):
                rows[key].append(value)
            obs = following
    return {k: torch.stack(v) for k, v in rows.items()}, obs


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=6e-3)
    ap.add_argument("--steps", type=int, default=120)
    ap.add_argument("--envs", type=int, default=32)
    ap.add_argument("--gamma", type=float, default=0.9)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    mazes, policy = Mazes(args.envs, torch.Generator().manual_seed(args.seed)), Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    obs, goals = mazes.reset(), []
    for step in range(args.steps):
        batch, obs = collect(policy, mazes, obs)
        returns = reward2go(batch["reward"], batch["done"], args.gamma)
        weight = (returns - returns.mean()) / (returns.std() + 1e-6)
        dist = Categorical(logits=policy(batch["obs"]))
        loss = -(dist.log_prob(batch["action"]) * weight).mean() - 0.01 * dist.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        goals.append(batch["done"].float().mean().item() * HORIZON)
        if step % 30 == 29:
            print(f"update {step + 1} loss {loss.item():.4f} goals per walker {goals[-1]:.3f}")
    last = torch.stack([batch["reward"][-1], returns[-1]])
    print(f"EVIDENCE goals={sum(goals[-10:]) / 10:.3f} last_row_differs={(last[0] - last[1]).abs().max().item():.4f}")


if __name__ == "__main__":
    main()
