"""A recurrent actor and critic in corridors: a sign at the start says which way to turn at the end."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
ENVS, UNROLL, LENGTH, GAMMA = 16, 8, 4, 0.95


class Corridors:
    def __init__(self):
        self.sign, self.at = torch.randint(2, (ENVS,)), torch.randint(LENGTH, (ENVS,))

    def observe(self):
        shown = nn.functional.one_hot(self.sign, 2) * (self.at == 0)[:, None]
        return torch.cat([shown, nn.functional.one_hot(self.at, LENGTH)], 1).float()

    def step(self, action):
        end = self.at == LENGTH - 1
        reward = torch.where(end, torch.where(action == self.sign, 1.0, -1.0), 0.0)
        self.at = torch.where(end, 0, self.at + 1)
        self.sign = torch.where(end, torch.randint(2, (ENVS,)), self.sign)
        return self.observe(), reward, end.float()


class Agent(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.rnn = nn.GRUCell(2 + LENGTH, width)
        self.actor, self.critic = nn.Linear(width, 2), nn.Linear(width, 1)

    def forward(self, x, hidden, mask):
        hidden = hidden * mask[:, None]
        hidden = self.rnn(x, hidden)
        return torch.distributions.Categorical(logits=self.actor(hidden)), self.critic(hidden)[:, 0], hidden


torch.manual_seed(args.seed)
torch.set_num_threads(1)
envs, agent = Corridors(), Agent()
optimizer = torch.optim.RMSprop(agent.parameters(), lr=args.lr)
x, hidden, mask, earned, ends = envs.observe(), torch.zeros(ENVS, 32), torch.zeros(ENVS), [], 0
for update in range(args.steps):
    hidden, logps, values, rewards, masks, entropy = hidden.detach(), [], [], [], [], 0
    for _ in range(UNROLL):
        policy, value, hidden = agent(x, hidden, mask)
        action = policy.sample()
        x, reward, done = envs.step(action)
        mask = 1 - done
        logps, values, rewards, masks = logps + [policy.log_prob(action)], values + [value], rewards + [reward], masks + [mask]
        entropy = entropy + policy.entropy().mean() / UNROLL
        ends += done.sum().item()
    with torch.no_grad():
        target, returns = agent(x, hidden, mask)[1], []
        for reward, m in zip(reversed(rewards), reversed(masks)):
            target = reward + GAMMA * target * m
            returns.insert(0, target)
    advantage = torch.stack(returns) - torch.stack(values)
    loss = -(torch.stack(logps) * advantage.detach()).mean() + 0.5 * advantage.pow(2).mean() - 0.01 * entropy
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
    optimizer.step()
    earned.append(torch.stack(rewards).sum().item() / (ENVS * UNROLL / LENGTH))
with torch.no_grad():
    start = torch.eye(2 + LENGTH)[[0, 2]].sum(0).expand(ENVS, -1)
    spread = agent(start, hidden, torch.zeros(ENVS))[0].probs[:, 0].std()
print(f"EVIDENCE the same first step: probabilities spread {spread:.5f}; last reward {sum(earned[-10:]) / 10:.3f}")

# SPDX-License-Identifier: Apache-2.0
