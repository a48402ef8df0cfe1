"""Actor and critic with generalised advantages on a small walk whose episodes end."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=24)
args = parser.parse_args()
GAMMA, LAMBDA, HORIZON = 0.97, 0.95, 48


class Walk:
    def __init__(self):
        self.x = torch.zeros(2)

    def step(self, action):
        self.x = self.x + 0.4 * torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])[action]
        reward = (self.x.sum() / 4).item()
        done = bool(self.x.abs().max() > 1.5) or torch.rand(()).item() < 0.05
        state = self.x.clone()
        if done:
            self.x = torch.zeros(2)
        return reward, done, state


def advantages(rewards, values, masks, next_value):
    returns, advantage = torch.zeros(HORIZON), torch.zeros(HORIZON)
    previous_return, previous = next_value, next_value
    for i in reversed(range(HORIZON)):
        previous_return = rewards[i] + masks[i] * previous_return
        returns[i] = previous_return
        advantage[i] = rewards[i] + masks[i] * previous - values[i]
        previous = values[i] + advantage[i] * LAMBDA
    return returns, advantage


torch.manual_seed(args.seed)
torch.set_num_threads(1)
actor = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 4))
critic = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=args.lr)
walk = Walk()
for iteration in range(args.steps):
    states, actions, rewards, masks = [], [], torch.zeros(HORIZON), torch.zeros(HORIZON)
    with torch.no_grad():
        for i in range(HORIZON):
            states.append(walk.x.clone())
            actions.append(torch.multinomial(actor(walk.x).softmax(-1), 1))
            rewards[i], done, _ = walk.step(actions[-1].item())
            masks[i] = 0.0 if done else GAMMA
        states, actions = torch.stack(states), torch.stack(actions)
        values = critic(states).squeeze(1)
        returns, advantage = advantages(rewards, values, masks, critic(walk.x).squeeze())
    ends = advantage[masks == 0].mean()
    normalised = (advantage - advantage.mean()) / (advantage.std() + 1e-5)
    log_prob = actor(states).log_softmax(-1).gather(1, actions).squeeze(1)
    loss = -(log_prob * normalised).mean() + nn.functional.mse_loss(critic(states).squeeze(1), returns)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"EVIDENCE advantage at the ends of episodes {ends:.3f}, mean reward {rewards.mean():.3f}, loss {loss:.3f}")

# Idea from AI4Finance-Foundation/ElegantRL#183
# SPDX-License-Identifier: Apache-2.0
