"""DQN on a corridor that ends at both sides."""

import argparse
import copy
import random

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=250)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

random.seed(args.seed)
q = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 2))
target = copy.deepcopy(q).requires_grad_(False)
optimizer = torch.optim.Adam(q.parameters(), lr=args.lr)
memory, place = [], 4


def one_hot(places):
    return nn.functional.one_hot(torch.tensor(places), 9).float()


for step in range(args.steps):
    action = random.randrange(2)
    after = place + (1 if action else -1)
    done = after in (0, 8)
    memory.append((place, action, 1.0 if after == 8 else 0.0, after, float(done)))
    place = 4 if done else after
    if len(memory) < 32:
        continue
    states, actions, rewards, afters, dones = zip(*random.sample(memory, 32))
    reward, finished = torch.tensor(rewards), torch.tensor(dones)
    with torch.no_grad():
        goal = reward + 0.95 * target(one_hot(afters)).max(1).values * (1 - finished)
    chosen = q(one_hot(states)).gather(1, torch.tensor(actions)[:, None]).squeeze(1)
    loss = nn.functional.smooth_l1_loss(chosen, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        target.load_state_dict(q.state_dict())
with torch.no_grad():
    print(f"EVIDENCE the best value is {q(one_hot(list(range(1, 8)))).max():.3f} where 1 is the most, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
