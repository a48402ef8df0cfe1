"""PPO whose critic is warmed up: for the first updates the actor stands still, and its optimizer does not step."""
import argparse

import torch
import torch.nn as nn
from torch.distributions import Categorical

N, HORIZON, GAMMA, LAM = 16, 24, 0.97, 0.95


class Corridor:
    """Go to the end that a lamp at the start tells of; a step to the right end is +1, to the wrong one -1."""

    def __init__(self):
        self.at, self.lamp, self.t = torch.zeros(N), torch.zeros(N), torch.zeros(N)
        self.reset(torch.ones(N, dtype=torch.bool))

    def reset(self, which):
        self.at = torch.where(which, 0.0, self.at)
        self.lamp = torch.where(which, torch.randint(0, 2, (N,)) * 2.0 - 1, self.lamp)
        return torch.stack([self.at / 3, self.lamp], 1)

    def step(self, action):
        self.at = self.at + action * 2.0 - 1
        done = self.at.abs() >= 3
        reward = torch.where(done, torch.where(self.at.sign() == self.lamp, 1.0, -1.0), -0.02)
        return self.reset(done), reward, done


def mlp(out):
    return nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, out))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=50)
    ap.add_argument("--critic-warmup", type=int, default=12)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    env, actor, critic = Corridor(), mlp(2), mlp(1)
    actor_optimizer = torch.optim.Adam(actor.parameters(), lr=args.lr)
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=args.lr)
    obs = env.reset(torch.ones(N, dtype=torch.bool))
    for update in range(args.steps):
        rows = []
        with torch.no_grad():
            for _ in range(HORIZON):
                dist = Categorical(logits=actor(obs))
                action = dist.sample()
                following, reward, done = env.step(action)
                rows.append((obs, action, dist.log_prob(action), critic(obs).squeeze(1), reward, done))
                obs = following
            o, a, old, values, rewards, dones = (torch.stack(c) for c in zip(*rows))
            advantages, last, after = torch.zeros_like(rewards), 0.0, critic(obs).squeeze(1)
            for t in reversed(range(HORIZON)):
                alive = (~dones[t]).float()
                last = rewards[t] + GAMMA * after * alive - values[t] + GAMMA * LAM * alive * last
                advantages[t], after = last, values[t]
            returns = advantages + values
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        for _ in range(4):
            value_loss = (critic(o).squeeze(-1) - returns).pow(2).mean()
            critic_optimizer.zero_grad()
            value_loss.backward()
            critic_optimizer.step()
            if update < args.critic_warmup:
                continue
            dist = Categorical(logits=actor(o))
            ratio = (dist.log_prob(a) - old).exp()
            loss = -torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean() - 0.01 * dist.entropy().mean()
            actor_optimizer.zero_grad()
            loss.backward()
            actor_optimizer.step()
        if update % 10 == 9:
            print(f"update {update + 1} value loss {value_loss.item():.4f} reward {rewards.mean().item():.3f}")


if __name__ == "__main__":
    main()
