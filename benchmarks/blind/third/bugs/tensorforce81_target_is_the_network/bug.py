"""Q-learning on a small chain world with a target network that is refreshed every ten steps."""

import argparse
import copy

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
N = 8


class QNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(N, 32), nn.ReLU())
        self.head = nn.Linear(32, 2)

    def forward(self, state):
        return self.head(self.body(nn.functional.one_hot(state, N).float()))


def transitions(n):
    state = torch.randint(0, N, (n,))
    action = torch.randint(0, 2, (n,))
    after = (state + 2 * action - 1).clamp(0, N - 1)
    return state, action, (after == N - 1).float(), after, (after == N - 1).float()


class Agent:
    def __init__(self, gamma=0.9):
        self.network = QNetwork()
        self.target_network = self.network
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=args.lr)
        self.gamma = gamma

    def update(self, step):
        state, action, reward, after, done = transitions(32)
        with torch.no_grad():
            value = self.target_network(after).max(1).values
            target = reward + self.gamma * (1 - done) * value
        q = self.network(state).gather(1, action[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(q, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        if (step + 1) % 10 == 0:
            self.target_network.load_state_dict(self.network.state_dict())
        return loss.item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
agent = Agent()
losses = [agent.update(step) for step in range(args.steps)]
apart = sum((p is not t) for p, t in zip(agent.network.parameters(), agent.target_network.parameters()))
print(f"EVIDENCE {apart} parameters of the target are its own, loss {losses[-1]:.4f}")

# Idea from tensorforce/tensorforce#81
# SPDX-License-Identifier: Apache-2.0
