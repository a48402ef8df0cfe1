"""Double DQN with Polyak averaged target on a key-and-door corridor written by hand."""
import argparse
import copy
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

LENGTH = 9


class Corridor:
    """Start in the middle, fetch the key at the left end, open the door at the right end."""

    n_actions = 3     # left, right, grab/open

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.pos = int(self.rng.integers(1, LENGTH - 1))
        self.key = False
        self.t = 0
        return self._obs()

    def _obs(self):
        o = np.zeros(LENGTH + 1, dtype=np.float32)
        o[self.pos] = 1.0
        o[-1] = float(self.key)
        return o

    def step(self, a):
        self.t += 1
        reward, done = -0.01, False
        if a == 0:
            self.pos = max(0, self.pos - 1)
        elif a == 1:
            self.pos = min(LENGTH - 1, self.pos + 1)
        elif self.pos == 0 and not self.key:
            self.key, reward = True, 0.2
        elif self.pos == LENGTH - 1 and self.key:
            reward, done = 1.0, True
        return self._obs(), reward, done, self.t >= 60


class QNet(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(LENGTH + 1, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                                 nn.Linear(hidden, Corridor.n_actions))

    def forward(self, x):
        return self.net(x)


class Memory:
    def __init__(self, capacity, rng):
        self.capacity, self.rng, self.data, self.at = capacity, rng, [], 0

    def push(self, item):
        if len(self.data) < self.capacity:
            self.data.append(item)
        else:
            self.data[self.at] = item
        self.at = (self.at + 1) % self.capacity

    def sample(self, n):
        idx = self.rng.integers(0, len(self.data), n)
        o, a, r, o2, d = zip(*(self.data[i] for i in idx))
        as_f = lambda x: torch.as_tensor(np.asarray(x, dtype=np.float32))
        return as_f(o), torch.as_tensor(a), as_f(r), as_f(o2), as_f(d)


class DQNAgent:
    def __init__(self, lr, gamma=0.95, tau=0.05):
        self.gamma, self.tau = gamma, tau
        self.q = QNet()
        self.target = copy.deepcopy(self.q)
        self.opt = torch.optim.Adam(self.q.parameters(), lr=lr)
        self.q_params = {name: p.detach() for name, p in self.q.named_parameters()}
        self.target_params = {name: p.detach() for name, p in self.target.named_parameters()}

    @torch.no_grad()
    def act(self, obs, eps, rng):
        if rng.random() < eps:
            return int(rng.integers(Corridor.n_actions))
        return int(self.q(torch.from_numpy(obs)).argmax())

    def learn(self, batch):
        o, a, r, o2, d = batch
        with torch.no_grad():
            best = self.q(o2).argmax(1, keepdim=True)
            backup = self.target(o2).gather(1, best).squeeze(1)
            y = r + self.gamma * (1 - d) * backup
        pred = self.q(o).gather(1, a[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(pred, y)
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.q.parameters(), 5.0)
        self.opt.step()
        self.soft_update()
        return loss.item()

    def soft_update(self):
        for name, p in self.target_params.items():
            p.lerp_(self.q_params[name], self.tau)


def evaluate(agent, episodes=40):
    rng = np.random.default_rng(2024)
    env, wins, total = Corridor(rng), 0, 0.0
    for _ in range(episodes):
        obs, done, cut = env.reset(), False, False
        while not (done or cut):
            obs, r, done, cut = env.step(agent.act(obs, 0.02, rng))
            total += r
        wins += done
    return wins / episodes, total / episodes


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=100, help="blocks of 40 environment steps")
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    random.seed(args.seed)
    rng = np.random.default_rng(args.seed)
    env, memory, agent = Corridor(rng), Memory(8000, rng), DQNAgent(args.lr)

    obs = env.reset()
    for step in range(args.steps):
        eps = max(0.15, 1.0 - step / (0.6 * args.steps))
        for k in range(40):
            action = agent.act(obs, eps, rng)
            nxt, reward, done, cut = env.step(action)
            memory.push((obs, action, reward, nxt, done))
            obs = env.reset() if done or cut else nxt
            if len(memory.data) > 200 and k % 2 == 0:
                loss = agent.learn(memory.sample(64))
        if step >= 10 and (step % 20 == 0 or step == args.steps - 1):
            print(f"block {step:3d} eps {eps:.2f} loss {loss:.5f}")

    wins, ret = evaluate(agent)
    print(f"EVIDENCE solved={wins:.3f} return={ret:.4f}")


if __name__ == "__main__":
    main()
