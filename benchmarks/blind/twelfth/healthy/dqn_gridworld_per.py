"""Dueling double DQN in a small grid world: prioritised replay, epsilon-greedy with decay, soft updates of the target."""
import argparse
import random

import numpy as np
import torch
import torch.nn as nn


class GridWorld:
    """6x6 grid with some pits; start anywhere in the left column, goal in the upper right corner; at most 30 moves."""
    MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]

    def __init__(self, rng, size=6):
        self.size, self.rng = size, rng
        self.goal, self.pits = (0, size - 1), {(1, 2), (3, 3), (4, 1)}

    def obs(self):
        o = np.zeros(2 * self.size, dtype=np.float32)
        o[self.pos[0]], o[self.size + self.pos[1]] = 1, 1
        return o

    def reset(self):
        self.pos, self.t = (self.rng.randrange(self.size), 0), 0
        return self.obs()

    def step(self, action):
        if self.rng.random() < 0.05:            # slippery floor
            action = self.rng.randrange(4)
        dr, dc = self.MOVES[action]
        self.pos = (min(max(self.pos[0] + dr, 0), self.size - 1), min(max(self.pos[1] + dc, 0), self.size - 1))
        self.t += 1
        if self.pos == self.goal:
            return self.obs(), 1.0, True, False
        if self.pos in self.pits:
            return self.obs(), -1.0, True, False
        return self.obs(), -0.02, False, self.t >= 30


class PrioritizedReplay:
    def __init__(self, capacity, alpha=0.6):
        self.capacity, self.alpha, self.data, self.next = capacity, alpha, [], 0
        self.priority = np.zeros(capacity)

    def push(self, item):
        if len(self.data) < self.capacity:
            self.data.append(item)
        else:
            self.data[self.next] = item
        self.priority[self.next] = self.priority.max() if len(self.data) > 1 else 1.0
        self.next = (self.next + 1) % self.capacity

    def sample(self, n, beta, rng):
        p = self.priority[:len(self.data)] ** self.alpha
        p /= p.sum()
        idx = rng.choice(len(self.data), n, p=p)
        w = (len(self.data) * p[idx]) ** -beta
        s, a, r, s2, done = map(np.array, zip(*(self.data[i] for i in idx)))
        t = lambda v: torch.as_tensor(v, dtype=torch.float32)
        return idx, t(w / w.max()), t(s), torch.as_tensor(a), t(r), t(s2), t(done)

    def update(self, idx, td):
        self.priority[idx] = np.abs(td) + 1e-3


class DuelingNet(nn.Module):
    def __init__(self, n_obs, n_actions):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_obs, 48), nn.ReLU())
        self.value, self.adv = nn.Linear(48, 1), nn.Linear(48, n_actions)

    def forward(self, x):
        h = self.body(x)
        a = self.adv(h)
        return self.value(h) + a - a.mean(1, keepdim=True)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=2400, help="steps in the environment")
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    np_rng = np.random.default_rng(args.seed)
    env, explore = GridWorld(random.Random(args.seed)), random.Random(args.seed + 1)
    q, target = DuelingNet(12, 4), DuelingNet(12, 4)
    target.load_state_dict(q.state_dict())
    target.requires_grad_(False)
    opt = torch.optim.Adam(q.parameters(), lr=args.lr)
    replay, gamma, returns, total = PrioritizedReplay(1500), 0.97, [], 0.0
    s = env.reset()
    for t in range(args.steps):
        eps = max(0.05, 1 - t / (0.5 * args.steps))
        if explore.random() < eps:
            a = explore.randrange(4)
        else:
            with torch.no_grad():
                a = q(torch.from_numpy(s)[None]).argmax(1).item()
        s2, r, terminated, truncated = env.step(a)
        replay.push((s, a, r, s2, terminated))
        total += r
        s = s2
        if terminated or truncated:
            returns.append(total)
            s, total = env.reset(), 0.0
        if len(replay.data) >= 200 and t % 4 == 0:
            idx, w, sb, ab, rb, s2b, db = replay.sample(64, 0.4 + 0.6 * t / args.steps, np_rng)
            with torch.no_grad():
                best = q(s2b).argmax(1, keepdim=True)
                y = rb + gamma * (1 - db) * target(s2b).gather(1, best).squeeze(1)
            td = q(sb).gather(1, ab[:, None]).squeeze(1) - y
            loss = (w * nn.functional.huber_loss(td, torch.zeros_like(td), reduction="none")).mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(q.parameters(), 10.0)
            opt.step()
            replay.update(idx, td.detach().numpy())
            with torch.no_grad():
                for pt, p in zip(target.parameters(), q.parameters()):
                    pt.lerp_(p, 0.02)
        if (t + 1) % 400 == 0:
            print(f"t {t + 1}: eps {eps:.2f}, {len(returns)} episodes, mean return of the last 20 {np.mean(returns[-20:]):.3f}")


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
