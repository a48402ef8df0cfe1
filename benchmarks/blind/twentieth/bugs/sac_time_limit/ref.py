"""Soft actor-critic for a drone that holds its height; the simulator stops after 12 ticks."""
import argparse
import copy

import torch
from torch import nn
import torch.nn.functional as F

LIMIT, GAMMA, TAU = 12, 0.9, 0.05


class Hover:
    def __init__(self, gen, n=8):
        self.gen, self.n = gen, n
        self.state = self.fresh()
        self.t = torch.randint(LIMIT, (n,), generator=gen)

    def fresh(self):
        return torch.rand(self.n, 2, generator=self.gen) * 2 - 1

    def step(self, action):
        height, speed = self.state.T
        speed = (0.9 * speed + 0.3 * action).clamp(-2, 2)
        height = height + 0.2 * speed
        nxt = torch.stack([height, speed], 1)
        reward = 1.0 - height.abs().clamp(max=1.0)
        terminated = height.abs() > 3.0
        self.t = self.t + 1
        truncated = self.t >= LIMIT
        over = terminated | truncated
        self.state = torch.where(over[:, None], self.fresh(), nxt)
        self.t = torch.where(over, 0, self.t)
        return nxt, reward, terminated, truncated


def net(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, n_out))


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = net(2, 2)

    def forward(self, obs):
        mean, log_std = self.body(obs).chunk(2, -1)
        dist = torch.distributions.Normal(mean, log_std.clamp(-4, 1).exp())
        raw = dist.rsample()
        action = raw.tanh()
        logp = dist.log_prob(raw) - torch.log(1 - action.pow(2) + 1e-6)
        return action, logp


class Replay:
    def __init__(self, size=20000):
        self.data, self.filled = torch.zeros(size, 7), 0

    def push(self, obs, action, reward, next_obs, terminated):
        row = torch.cat([obs, action, reward[:, None], next_obs, terminated[:, None].float()], 1)
        where = (self.filled + torch.arange(len(row))) % len(self.data)
        self.data[where] = row
        self.filled += len(row)

    def sample(self, n):
        picks = torch.randint(min(self.filled, len(self.data)), (n,))
        return self.data[picks].split([2, 1, 1, 2, 1], 1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=500)
    ap.add_argument("--alpha", type=float, default=0.02)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    env = Hover(torch.Generator().manual_seed(args.seed))
    actor, q1, q2 = Actor(), net(3, 1), net(3, 1)
    t1, t2 = copy.deepcopy(q1), copy.deepcopy(q2)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=args.lr)
    q_opt = torch.optim.Adam([*q1.parameters(), *q2.parameters()], lr=args.lr)
    replay, recent = Replay(), []
    for step in range(args.steps):
        obs = env.state
        with torch.no_grad():
            action = actor(obs)[0]
        next_obs, reward, terminated, truncated = env.step(action.squeeze(1))
        replay.push(obs, action, reward, next_obs, terminated)
        recent = (recent + [reward.mean().item()])[-100:]
        if step < 30:
            continue
        o, a, r, o2, done = replay.sample(96)
        with torch.no_grad():
            a2, logp2 = actor(o2)
            x2 = torch.cat([o2, a2], 1)
            q_next = torch.min(t1(x2), t2(x2)) - args.alpha * logp2
            target = r + GAMMA * (1 - done) * q_next
        x = torch.cat([o, a], 1)
        q_loss = F.mse_loss(q1(x), target) + F.mse_loss(q2(x), target)
        q_opt.zero_grad()
        q_loss.backward()
        q_opt.step()
        new_a, logp = actor(o)
        xa = torch.cat([o, new_a], 1)
        actor_loss = (args.alpha * logp - torch.min(q1(xa), q2(xa))).mean()
        actor_opt.zero_grad()
        actor_loss.backward()
        actor_opt.step()
        with torch.no_grad():
            for q, t in ((q1, t1), (q2, t2)):
                for p, tp in zip(q.parameters(), t.parameters()):
                    tp.lerp_(p, TAU)
        if step % 100 == 0:
            print(f"step {step} q loss {q_loss.item():.4f} reward {sum(recent) / len(recent):.3f}")
    endless = sum(recent) / len(recent) / (1 - GAMMA)
    value = q1(x).mean().item()
    print(f"EVIDENCE mean_q={value:.2f} reward_without_end={endless:.2f} share={value / endless:.3f}")


if __name__ == "__main__":
    main()
