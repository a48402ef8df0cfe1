"""Double DQN with a replay buffer on gymnasium's CartPole: episodes end by failure or by time, greedy tests now and then."""
import argparse
import random
from collections import deque

import gymnasium as gym
import numpy as np
import torch
from torch import nn


class DuelingNet(nn.Module):
    def __init__(self, inputs, actions):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.value, self.advantage = nn.Linear(64, 1), nn.Linear(64, actions)

    def forward(self, x):
        h = self.body(x)
        a = self.advantage(h)
        return self.value(h) + a - a.mean(-1, keepdim=True)


def greedy_length(net, env):
    state, _ = env.reset()
    for t in range(200):
        with torch.no_grad():
            action = net(torch.as_tensor(state)).argmax().item()
        state, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            break
    return t + 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=1200)
    args = parser.parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    env, test_env = gym.make("CartPole-v1"), gym.make("CartPole-v1")
    state, _ = env.reset(seed=args.seed)
    test_env.reset(seed=args.seed + 1)
    online, target = DuelingNet(4, 2), DuelingNet(4, 2)
    target.load_state_dict(online.state_dict())
    optimizer = torch.optim.AdamW(online.parameters(), lr=args.lr, amsgrad=True)
    buffer = deque(maxlen=4000)
    updates, frames, lengths, length = 0, 0, [], 0
    while updates < args.steps:
        epsilon = 0.05 + 0.95 * np.exp(-frames / 600)
        if random.random() < epsilon:
            action = random.randrange(2)
        else:
            with torch.no_grad():
                action = online(torch.as_tensor(state)).argmax().item()
        following, reward, terminated, truncated, _ = env.step(action)
        buffer.append((state, action, reward, following, terminated))
        state, frames, length = following, frames + 1, length + 1
        if terminated or truncated:
            lengths.append(length)
            length = 0
            state, _ = env.reset()
        if len(buffer) < 200 or frames % 2:
            continue
        s, a, r, n, d = map(np.array, zip(*random.sample(buffer, 64)))
        s, n = torch.as_tensor(s), torch.as_tensor(n)
        q = online(s).gather(1, torch.as_tensor(a)[:, None]).squeeze(1)
        with torch.no_grad():
            choice = online(n).argmax(1, keepdim=True)
            goal = torch.as_tensor(r, dtype=torch.float32) + 0.98 * target(n).gather(1, choice).squeeze(1) * (1 - torch.as_tensor(d, dtype=torch.float32))
        loss = nn.functional.smooth_l1_loss(q, goal)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(online.parameters(), 10.0)
        optimizer.step()
        updates += 1
        if updates % 100 == 0:
            target.load_state_dict(online.state_dict())
        if updates % 300 == 0:
            online.eval()
            print(f"update {updates}: loss {loss.item():.4f}, q {q.mean().item():.3f}, epsilon {epsilon:.3f}, last {np.mean(lengths[-10:]):.1f}, "
                  f"greedy {greedy_length(online, test_env)}")
            online.train()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
