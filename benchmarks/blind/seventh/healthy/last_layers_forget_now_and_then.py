"""A value network on a ring of states; its head is reset periodically against early overfitting, the memory stays."""

import argparse
import collections
import copy
import random

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=300)
args = parser.parse_args()
STATES, GOAL = 10, 5


def one_hot(state):
    return nn.functional.one_hot(torch.as_tensor(state), STATES).float()


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(STATES, 32), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x):
        return self.head(self.body(x))


def forget(network, optimizer, target):
    for layer in network.head:
        if isinstance(layer, nn.Linear):
            layer.reset_parameters()
            for p in layer.parameters():
                optimizer.state.pop(p, None)
    target.load_state_dict(network.state_dict())


def shaken(network, size):
    """Noise on the last layer; gives what puts it back."""
    weight = network.head[-1].weight
    kept = weight.detach().clone()
    with torch.no_grad():
        weight.add_(size * torch.randn_like(weight))
    return lambda: weight.data.copy_(kept)


def walk(state, action):
    state = (state + (1 if action else -1)) % STATES
    return state, float(state == GOAL), state == GOAL


torch.manual_seed(args.seed)
torch.set_num_threads(1)
random.seed(args.seed)
network = Network()
target = copy.deepcopy(network).requires_grad_(False)
optimizer = torch.optim.Adam(network.parameters(), lr=args.lr)
memory, state = collections.deque(maxlen=500), random.randrange(STATES)
for step in range(1, args.steps + 1):
    undo = shaken(network, 0.3)
    with torch.no_grad():
        action = network(one_hot(state)).argmax().item() if random.random() > 0.1 else random.randrange(2)
    undo()
    following, reward, end = walk(state, action)
    memory.append((state, action, reward, following, float(end)))
    state = random.randrange(STATES) if end else following
    if len(memory) < 40:
        continue
    s, a, r, n, d = map(torch.tensor, zip(*random.sample(memory, 32)))
    with torch.no_grad():
        best = network(one_hot(n)).argmax(1, keepdim=True)
        aim = r + 0.9 * (1 - d) * target(one_hot(n)).gather(1, best).squeeze(1)
    loss = nn.functional.smooth_l1_loss(network(one_hot(s)).gather(1, a[:, None]).squeeze(1), aim)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        for slow, fast in zip(target.parameters(), network.parameters()):
            slow.data.lerp_(fast.data, 0.5)
    if step % 100 == 0 and step < args.steps * 0.8:
        forget(network, optimizer, target)
        print(f"step {step}: head and moments forgotten")
    if step % 60 == 0:
        print(f"step {step}: loss {loss.item():.5f}, memory {len(memory)}")

# SPDX-License-Identifier: Apache-2.0
