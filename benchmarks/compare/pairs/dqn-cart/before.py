"""Deep Q-learning of a cart on a line that has to stay near the centre under a time limit."""
import argparse
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class LineCart:
    """Position and velocity; the episode fails at |x| > 1 and is cut after `limit` steps."""

    n_actions = 3

    def __init__(self, seed, limit=25):
        self.rng = np.random.default_rng(seed)
        self.limit = limit

    def reset(self):
        self.x, self.v = self.rng.uniform(-0.5, 0.5, 2)
        self.t = 0
        return self.observe()

    def observe(self):
        return np.array([self.x, self.v], dtype=np.float32)

    def step(self, action):
        self.v += 0.1 * (action - 1) + 0.03 * self.x + self.rng.normal(0, 0.02)
        self.x += 0.1 * self.v
        self.t += 1
        terminated = bool(abs(self.x) > 1)
        truncated = self.t >= self.limit
        reward = -5.0 if terminated else 1.0 - abs(self.x)
        return self.observe(), reward, terminated, truncated


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))

    def forward(self, obs):
        return self.net(obs)


def update(q, target, opt, buffer, batch_size, gamma):
    batch = random.sample(buffer, batch_size)
    obs, act, rew, nxt, term = (torch.as_tensor(np.array(c)) for c in zip(*batch))
    with torch.no_grad():
        best = target(nxt).max(1).values
        goal = rew.float() + gamma * (1 - term.float()) * best
    value = q(obs).gather(1, act[:, None])[:, 0]
    loss = F.smooth_l1_loss(value, goal)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item(), value.mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=2000)
    args = parser.parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)

    env = LineCart(args.seed)
    q, target = QNet(), QNet()
    target.load_state_dict(q.state_dict())
    opt = torch.optim.Adam(q.parameters(), lr=1e-3)
    buffer = deque(maxlen=2000)
    obs = env.reset()
    for step in range(args.steps):
        epsilon = max(0.05, 1 - 2 * step / args.steps)
        if random.random() < epsilon:
            action = random.randrange(env.n_actions)
        else:
            with torch.no_grad():
                action = int(q(torch.from_numpy(obs)).argmax())
        nxt, reward, terminated, truncated = env.step(action)
        buffer.append((obs, action, reward, nxt, terminated))
        obs = env.reset() if terminated or truncated else nxt
        if len(buffer) >= 64:
            loss, value = update(q, target, opt, buffer, 64, 0.98)
        if step % 100 == 0:
            target.load_state_dict(q.state_dict())
        if step % 200 == 199 or step == args.steps - 1:
            print(f"step {step} loss {loss:.6f} value {value:.4f}")


if __name__ == "__main__":
    main()
