"""Deep Q-learning on a small grid: replay memory, a target network that is copied now and then, clipped gradients."""

import collections
import random

import torch
import torch.nn.functional as F
from torch import nn, optim

from options import options

Transition = collections.namedtuple("Transition", "state action next_state reward done")


class Grid:
    moves = ((0, 1), (0, -1), (1, 0), (-1, 0))

    def reset(self):
        self.x = self.y = self.t = 0
        return self.state()

    def state(self):
        return F.one_hot(torch.tensor(4 * self.y + self.x), 16).float()

    def step(self, action):
        dx, dy = self.moves[action]
        self.x, self.y, self.t = min(3, max(0, self.x + dx)), min(3, max(0, self.y + dy)), self.t + 1
        goal = self.x == 3 and self.y == 3
        return self.state(), (1.0 if goal else -0.05), goal or self.t == 20


class DQN(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer1, self.layer2, self.layer3 = nn.Linear(16, width), nn.Linear(width, width), nn.Linear(width, 4)

    def forward(self, x):
        return self.layer3(F.relu(self.layer2(F.relu(self.layer1(x)))))


def optimize_model(policy_net, target_net, memory, optimizer, gamma=0.95):
    batch = Transition(*zip(*random.sample(memory, 32)))
    state, next_state = torch.stack(batch.state), torch.stack(batch.next_state)
    q = policy_net(state).gather(1, torch.tensor(batch.action)[:, None]).squeeze(1)
    with torch.no_grad():
        best = target_net(next_state).max(1).values * (1 - torch.tensor(batch.done).float())
    loss = F.smooth_l1_loss(q, torch.tensor(batch.reward) + gamma * best)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    return loss.item()


def main():
    args = options(lr=3e-3, width=48, steps=60)
    torch.manual_seed(args.seed)
    random.seed(args.seed)
    torch.set_num_threads(1)
    policy_net, target_net = DQN(args.width), DQN(args.width)
    target_net.load_state_dict(policy_net.state_dict())
    optimizer = optim.AdamW(policy_net.parameters(), lr=args.lr, amsgrad=True)
    memory, env, steps, losses = collections.deque(maxlen=1000), Grid(), 0, []
    state = env.reset()
    while len(losses) < args.steps:
        if random.random() < max(0.1, 1 - steps / 150):
            action = random.randrange(4)
        else:
            with torch.no_grad():
                action = policy_net(state).argmax().item()
        next_state, reward, done = env.step(action)
        memory.append(Transition(state, action, next_state, reward, done))
        state = env.reset() if done else next_state
        steps += 1
        if steps > 60 and steps % 2 == 0:
            losses.append(optimize_model(policy_net, target_net, memory, optimizer))
            if len(losses) % 15 == 0:
                target_net.load_state_dict(policy_net.state_dict())
                print(f"step {len(losses)}: loss {losses[-1]:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
