"""Double DQN on CartPole with a replay buffer, a target network and an early stop when it balances."""

import argparse
import collections
import random

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--steps", type=int, default=4000, help="environment steps")
args = parser.parse_args()
torch.set_num_threads(1)
random.seed(args.seed)
np.random.seed(args.seed)
torch.manual_seed(args.seed)

GAMMA, BATCH, LEARN_START, LEARN_EVERY, TARGET_EVERY = 0.98, 48, 400, 2, 200
Transition = collections.namedtuple("Transition", "obs action reward next_obs terminated")


class ReplayBuffer:
    def __init__(self, capacity):
        self.items = collections.deque(maxlen=capacity)

    def push(self, *item):
        self.items.append(Transition(*item))

    def sample(self, size):
        batch = Transition(*zip(*random.sample(self.items, size)))
        return (
            torch.from_numpy(np.stack(batch.obs)),
            torch.tensor(batch.action).unsqueeze(1),
            torch.tensor(batch.reward, dtype=torch.float32),
            torch.from_numpy(np.stack(batch.next_obs)),
            torch.tensor(batch.terminated, dtype=torch.float32),
        )

    def __len__(self):
        return len(self.items)


class QNet(nn.Module):
    def __init__(self, inputs, actions):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(inputs, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU())
        self.value, self.advantage = nn.Linear(96, 1), nn.Linear(96, actions)

    def forward(self, obs):
        h = self.trunk(obs)
        advantage = self.advantage(h)
        return self.value(h) + advantage - advantage.mean(1, keepdim=True)


env = gym.make("CartPole-v1")
env.action_space.seed(args.seed)
online = QNet(env.observation_space.shape[0], int(env.action_space.n))
target = QNet(env.observation_space.shape[0], int(env.action_space.n))
target.load_state_dict(online.state_dict())
target.eval()
optimizer = torch.optim.Adam(online.parameters(), lr=args.lr)
buffer = ReplayBuffer(4000)
returns, episode_return, losses = [], 0.0, collections.deque(maxlen=100)

obs, _ = env.reset(seed=args.seed)
for step in range(args.steps):
    epsilon = max(0.05, 1.0 - step / 1500)
    if random.random() < epsilon:
        action = env.action_space.sample()
    else:
        with torch.no_grad():
            action = online(torch.from_numpy(obs).unsqueeze(0)).argmax(1).item()
    next_obs, reward, terminated, truncated, _ = env.step(action)
    buffer.push(obs, int(action), reward, next_obs, terminated)
    episode_return += reward
    obs = next_obs
    if terminated or truncated:
        returns.append(episode_return)
        episode_return = 0.0
        obs, _ = env.reset()
        if len(returns) >= 5 and np.mean(returns[-5:]) > 300:
            print(f"balanced after {step + 1} steps")
            break

    if step >= LEARN_START and step % LEARN_EVERY == 0:
        s, a, r, s2, end = buffer.sample(BATCH)
        q = online(s).gather(1, a).squeeze(1)
        with torch.no_grad():
            choice = online(s2).argmax(1, keepdim=True)
            goal = r + GAMMA * (1 - end) * target(s2).gather(1, choice).squeeze(1)
        loss = F.smooth_l1_loss(q, goal)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(online.parameters(), 10.0)
        optimizer.step()
        losses.append(loss.item())
    if step >= LEARN_START and step % TARGET_EVERY == 0:
        target.load_state_dict(online.state_dict())

env.close()
print(f"episodes {len(returns)} first {np.mean(returns[:10]):.1f} last {np.mean(returns[-5:]):.1f} loss {np.mean(losses):.3f}")
