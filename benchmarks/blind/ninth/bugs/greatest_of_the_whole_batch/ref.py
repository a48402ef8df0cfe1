"""DQN in one file: a walker on a windy grid looks for the goal."""
import argparse
import collections
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--gamma", type=float, default=0.9)
    parser.add_argument("--learning-starts", type=int, default=300)
    parser.add_argument("--target-network-frequency", type=int, default=40)
    return parser.parse_args()


class WindyGrid:
    """Six by six; a goal in the corner gives one, a pit in the middle takes one, a step costs a little."""

    moves = np.array([[0, 1], [0, -1], [1, 0], [-1, 0]])

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.place, self.time = self.rng.integers(0, 3, 2), 0
        return self.observe()

    def observe(self):
        one_hot = np.zeros(12, dtype=np.float32)
        one_hot[[self.place[0], 6 + self.place[1]]] = 1.0
        return one_hot

    def step(self, action):
        move = self.moves[action if self.rng.random() > 0.1 else self.rng.integers(4)]
        self.place, self.time = np.clip(self.place + move, 0, 5), self.time + 1
        goal, pit = (self.place == 5).all(), (self.place == 3).all()
        return self.observe(), 1.0 * goal - 1.0 * pit - 0.02, bool(goal or pit), self.time >= 40


class QNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, x):
        return self.network(x)


if __name__ == "__main__":
    args = parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(args.seed)
    env = WindyGrid(rng)
    q_network, target_network = QNetwork(), QNetwork()
    target_network.load_state_dict(q_network.state_dict())
    optimizer = optim.Adam(q_network.parameters(), lr=args.lr)
    rb = collections.deque(maxlen=5000)
    obs, returns, total = env.reset(), collections.deque(maxlen=50), 0.0
    for global_step in range(args.learning_starts + 2 * args.steps):
        epsilon = max(0.1, 1.0 - global_step / (args.learning_starts + args.steps))
        if rng.random() < epsilon:
            action = int(rng.integers(4))
        else:
            with torch.no_grad():
                action = q_network(torch.from_numpy(obs)).argmax().item()
        next_obs, reward, terminated, truncated = env.step(action)
        rb.append((obs, action, reward, next_obs, terminated))
        obs, total = next_obs, total + reward
        if terminated or truncated:
            returns.append(total)
            obs, total = env.reset(), 0.0
        if global_step >= args.learning_starts and global_step % 2 == 0:
            batch = random.sample(rb, 64)
            s, a, r, s2, done = (torch.tensor(np.array(part), dtype=torch.float32) for part in zip(*batch))
            with torch.no_grad():
                target_max = target_network(s2).max(dim=1).values
                td_target = r + args.gamma * target_max * (1 - done)
            old_val = q_network(s).gather(1, a.long()[:, None]).squeeze(1)
            loss = F.mse_loss(old_val, td_target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if global_step % args.target_network_frequency == 0:
                target_network.load_state_dict(q_network.state_dict())
            if global_step % 500 == 0:
                print(f"global_step {global_step}: td loss {loss.item():.4f}, mean return {np.mean(returns):.3f}")
    test, scores = WindyGrid(np.random.default_rng(123)), []
    for _ in range(40):
        obs, over, total = test.reset(), False, 0.0
        while not over:
            with torch.no_grad():
                obs, reward, end, cut = test.step(q_network(torch.from_numpy(obs)).argmax().item())
            total, over = total + reward, end or cut
        scores.append(total)
    print(f"EVIDENCE mean return {np.mean(scores):.4f}, mean of last values {old_val.mean().item():.4f}")

# SPDX-License-Identifier: Apache-2.0
