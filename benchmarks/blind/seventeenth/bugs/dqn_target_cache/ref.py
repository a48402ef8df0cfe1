"""DQN with a Polyak-averaged target network on a small windy grid world."""
import argparse
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class WindyGrid:
    """6x6 grid, random start, goal in the lower right corner, pits in between."""

    SIZE = 6
    PITS = {(2, 2), (4, 1), (1, 4), (4, 4)}
    MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]

    def __init__(self, rng, wind=0.1, limit=40):
        self.rng, self.wind, self.limit = rng, wind, limit
        self.pos, self.t = (0, 0), 0

    def reset(self):
        while True:
            self.pos = (int(self.rng.integers(self.SIZE)), int(self.rng.integers(self.SIZE)))
            if self.pos not in self.PITS and self.pos != (self.SIZE - 1, self.SIZE - 1):
                break
        self.t = 0
        return self._obs()

    def _obs(self):
        grid = np.zeros((2, self.SIZE, self.SIZE), dtype=np.float32)
        grid[0][self.pos] = 1.0
        for pit in self.PITS:
            grid[1][pit] = 1.0
        return grid.reshape(-1)

    def step(self, action):
        if self.rng.random() < self.wind:
            action = int(self.rng.integers(4))
        dr, dc = self.MOVES[action]
        row = min(max(self.pos[0] + dr, 0), self.SIZE - 1)
        col = min(max(self.pos[1] + dc, 0), self.SIZE - 1)
        self.pos, self.t = (row, col), self.t + 1
        if self.pos == (self.SIZE - 1, self.SIZE - 1):
            return self._obs(), 1.0, True, False
        if self.pos in self.PITS:
            return self._obs(), -1.0, True, False
        return self._obs(), -0.01, False, self.t >= self.limit


class QNet(nn.Module):
    def __init__(self, obs_dim, n_actions, hidden=96):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs_dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.head = nn.Linear(hidden, n_actions)

    def forward(self, x):
        return self.head(self.body(x))


class DQNAgent:
    def __init__(self, obs_dim, n_actions, lr, gamma=0.9, tau=0.05):
        self.gamma, self.tau, self.n_actions = gamma, tau, n_actions
        self.online = QNet(obs_dim, n_actions)
        self.target = QNet(obs_dim, n_actions)
        self.pairs = list(zip(self.target.parameters(), self.online.parameters()))
        self.target.load_state_dict(self.online.state_dict())
        self.target.requires_grad_(False)
        self.opt = torch.optim.Adam(self.online.parameters(), lr=lr)

    def act(self, obs, eps):
        if random.random() < eps:
            return random.randrange(self.n_actions)
        with torch.no_grad():
            return int(self.online(torch.from_numpy(obs)[None]).argmax(1))

    @torch.no_grad()
    def soft_update(self):
        for tgt, src in self.pairs:
            tgt.lerp_(src, self.tau)

    def learn(self, batch):
        obs, act, rew, nxt, done = batch
        with torch.no_grad():
            best = self.online(nxt).argmax(1, keepdim=True)
            boot = self.target(nxt).gather(1, best).squeeze(1)
            y = rew + self.gamma * (1.0 - done) * boot
        q = self.online(obs).gather(1, act[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(q, y)
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.online.parameters(), 10.0)
        self.opt.step()
        self.soft_update()
        return loss.item(), q.mean().item()


def sample(replay, size):
    obs, act, rew, nxt, done = zip(*random.sample(replay, size))
    return (torch.from_numpy(np.stack(obs)), torch.tensor(act), torch.tensor(rew),
            torch.from_numpy(np.stack(nxt)), torch.tensor(done))


def evaluate(agent, env, episodes=40):
    total, wins = 0.0, 0
    for _ in range(episodes):
        obs, end = env.reset(), False
        while not end:
            obs, rew, term, trunc = env.step(agent.act(obs, 0.0))
            total += rew
            wins += int(term and rew > 0)
            end = term or trunc
    return total / episodes, wins / episodes


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    env = WindyGrid(np.random.default_rng(args.seed))
    agent = DQNAgent(2 * env.SIZE ** 2, 4, args.lr)
    replay = deque(maxlen=20000)

    obs = env.reset()
    for step in range(1, args.steps + 1):
        eps = max(0.1, 1.0 - step / (0.6 * args.steps))
        for _ in range(80):
            act = agent.act(obs, eps)
            nxt, rew, term, trunc = env.step(act)
            replay.append((obs, act, rew, nxt, float(term)))
            obs = env.reset() if (term or trunc) else nxt
        for _ in range(12):
            loss, q_mean = agent.learn(sample(replay, min(64, len(replay))))
        if step % 20 == 0:
            print(f"step {step:4d} eps {eps:.2f} loss {loss:.5f} mean q {q_mean:+.3f}")

    ret, win = evaluate(agent, WindyGrid(np.random.default_rng(1000 + args.seed)))
    print(f"EVIDENCE eval_return={ret:.3f} success_rate={win:.3f}")


if __name__ == "__main__":
    main()
