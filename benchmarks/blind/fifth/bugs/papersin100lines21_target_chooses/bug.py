"""Double Q-learning on a line of cells with noisy rewards; one network chooses the next action, the other judges it."""

import argparse
import copy
import random
from collections import deque

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--steps", type=int, default=1200)
args = parser.parse_args()
CELLS, ACTIONS, GAMMA, BATCH = 8, 4, 0.97, 64


class Line:
    def reset(self):
        self.cell, self.time = CELLS // 2, 0
        return self.cell

    def step(self, action):
        self.time += 1
        self.cell += (-1, 1, 0, 1 if random.random() < 0.5 else -1)[action]
        end = self.cell in (0, CELLS - 1) or self.time == 30
        reward = (1.0 if self.cell == CELLS - 1 else 0.0) + random.gauss(0, 0.5) - 0.05
        self.cell = min(max(self.cell, 0), CELLS - 1)
        return self.cell, reward, end


def network():
    return nn.Sequential(nn.Embedding(CELLS, 32), nn.ReLU(), nn.Linear(32, 48), nn.ReLU(), nn.Linear(48, ACTIONS))


def bootstrap(online, target, after):
    with torch.no_grad():
        best = target(after).argmax(1, keepdim=True)
        return target(after).gather(1, best).squeeze(1)


random.seed(args.seed)
torch.manual_seed(args.seed)
torch.set_num_threads(1)
online = network()
target = copy.deepcopy(online).requires_grad_(False)
optimizer = torch.optim.Adam(online.parameters(), lr=args.lr)
memory, env = deque(maxlen=4000), Line()
cell = env.reset()
above = []
for step in range(args.steps):
    if random.random() < max(0.1, 1 - step / 400):
        action = random.randrange(ACTIONS)
    else:
        with torch.no_grad():
            action = online(torch.tensor([cell])).argmax().item()
    after, reward, end = env.step(action)
    memory.append((cell, action, reward, after, float(end)))
    cell = env.reset() if end else after
    if len(memory) < 200:
        continue
    cells, actions, rewards, afters, ends = map(torch.tensor, zip(*random.sample(memory, BATCH)))
    goal = rewards + GAMMA * (1 - ends) * bootstrap(online, target, afters)
    value = online(cells).gather(1, actions[:, None]).squeeze(1)
    loss = nn.functional.smooth_l1_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        above.append((target(afters).amax(1) - bootstrap(online, target, afters)).mean().item())
    if step % 100 == 0:
        target.load_state_dict(online.state_dict())
    if step % 200 == 199:
        print(f"step {step}: loss {loss.item():.4f}, value {value.mean().item():.3f}")
print(f"EVIDENCE goals are {1000 * sum(above) / len(above):.3f} thousandths below the target network's greatest values")

# SPDX-License-Identifier: Apache-2.0
