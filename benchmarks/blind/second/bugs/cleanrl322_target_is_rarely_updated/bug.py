"""Deep Q-learning on a corridor; the target network follows every ten steps."""

import argparse
import collections
import copy
import random

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
random.seed(args.seed)
torch.manual_seed(args.seed)
torch.set_num_threads(1)
CELLS, TRAIN_EVERY, TARGET_EVERY = 8, 4, 10


class Corridor:
    def __init__(self):
        self.reset()

    def reset(self):
        self.at, self.time = 0, 0
        return self.observation()

    def observation(self):
        return nn.functional.one_hot(torch.tensor(self.at), CELLS).float()

    def step(self, action):
        self.at = min(max(self.at + (1 if action else -1), 0), CELLS - 1)
        self.time += 1
        done = self.at == CELLS - 1
        return self.observation(), float(done), done, self.time >= 40


def network():
    return nn.Sequential(nn.Linear(CELLS, 32), nn.ReLU(), nn.Linear(32, 2))


online = network()
target = copy.deepcopy(online)
optimizer = torch.optim.Adam(online.parameters(), lr=args.lr)
buffer = collections.deque(maxlen=400)
env, updates, copies = Corridor(), 0, 0
observation = env.reset()
global_step = 0
while updates < args.steps:
    global_step += 1
    epsilon = max(0.1, 1.0 - global_step / 150)
    if random.random() < epsilon:
        action = random.randrange(2)
    else:
        with torch.no_grad():
            action = int(online(observation).argmax())
    following, reward, done, truncated = env.step(action)
    buffer.append((observation, action, reward, following, float(done)))
    observation = env.reset() if done or truncated else following
    if len(buffer) < 40:
        continue
    if global_step % TRAIN_EVERY == 0:
        obs, act, rew, nxt, end = zip(*random.sample(buffer, 32))
        with torch.no_grad():
            best = target(torch.stack(nxt)).max(1).values
            goal = torch.tensor(rew) + 0.9 * best * (1 - torch.tensor(end))
        value = online(torch.stack(obs)).gather(1, torch.tensor(act)[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(value, goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        updates += 1
        if global_step % TARGET_EVERY == 0:
            target.load_state_dict(online.state_dict())
            copies += 1
print(f"EVIDENCE {copies} copies in {global_step} steps where one in {TARGET_EVERY} is meant; loss {loss.item():.4f}")

# Idea from vwxyzjn/cleanrl#322
# SPDX-License-Identifier: Apache-2.0
