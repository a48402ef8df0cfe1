"""Q-learning on a corridor, CleanRL style: episodes are played to their end, then the network is updated as often."""
import argparse
import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--steps", type=int, default=70, help="number of episodes")
parser.add_argument("--episode-length", type=int, default=35)
parser.add_argument("--target-every", type=int, default=128)
args = parser.parse_args()

random.seed(args.seed)
torch.manual_seed(args.seed)
torch.set_num_threads(1)
CELLS = 9


class Corridor:
    """One coin at the right end, crumbs at the left one; whoever takes the coin is put back to the middle."""

    def reset(self):
        self.at, self.t = CELLS // 2, 0
        return self.at

    def step(self, action):
        self.at = min(max(self.at + (1 if action else -1), 0), CELLS - 1)
        self.t += 1
        reward = 0.05 if self.at == 0 else 0.0
        if self.at == CELLS - 1:
            reward, self.at = 1.0, CELLS // 2
        return self.at, reward, self.t >= args.episode_length


def q_network():
    return nn.Sequential(nn.Embedding(CELLS, 24), nn.ReLU(), nn.Linear(24, 2))


def play(network, epsilon, memory=None):
    env, total, done = Corridor(), 0.0, False
    state = env.reset()
    while not done:
        with torch.no_grad():
            greedy = network(torch.tensor([state])).argmax(1).item()
        action = random.randrange(2) if random.random() < epsilon else greedy
        following, reward, done = env.step(action)
        if memory is not None:
            memory.append((state, action, reward, following))
        state, total = following, total + reward
    return total


q, memory = q_network(), []
q_target = copy.deepcopy(q)
optimizer = torch.optim.Adam(q.parameters(), lr=args.lr)
global_step, last_sync, syncs = 0, 0, 0
for episode in range(args.steps):
    epsilon = max(0.1, 1 - episode / (0.5 * args.steps))
    episodic_return = play(q, epsilon, memory)
    global_step += args.episode_length
    if global_step % args.target_every == 0:
        q_target.load_state_dict(q.state_dict())
        last_sync, syncs = global_step, syncs + 1
    for _ in range(args.episode_length):
        s, a, r, n = zip(*random.choices(memory, k=64))
        s, a, r, n = torch.tensor(s), torch.tensor(a), torch.tensor(r), torch.tensor(n)
        with torch.no_grad():
            td_target = r + 0.9 * q_target(n).max(1).values
        loss = F.mse_loss(q(s).gather(1, a[:, None]).squeeze(1), td_target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if episode % 10 == 9:
        print(f"global_step={global_step} return={episodic_return:.2f} td_loss={loss.item():.4f}")
print(f"EVIDENCE the target was copied {syncs} times, the value of the start is {q(torch.tensor([CELLS // 2])).max():.3f}, "
      f"greedy return {play(q, 0.0):.2f}")

# SPDX-License-Identifier: Apache-2.0
