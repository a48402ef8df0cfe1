"""Soft actor-critic with a learned temperature brings a point on a line to the origin; actions are squashed by tanh."""

import argparse
import copy

import torch
from torch import nn
from torch.distributions import Normal

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--steps", type=int, default=400)
args = parser.parse_args()
BATCH, GAMMA, ENTROPY = 64, 0.95, -1.0


def mlp(inputs, outputs, width=48):
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                         nn.Linear(width, outputs))


class Policy(nn.Module):
    def __init__(self, squash="tanh"):
        super().__init__()
        self.squash = squash
        self.net = mlp(2, 2)

    def forward(self, state):
        mean, log_std = self.net(state).chunk(2, -1)
        normal = Normal(mean, log_std.clamp(-4, 1).exp())
        raw = normal.rsample()
        action = torch.tanh(raw)
        logp = normal.log_prob(raw)
        if self.squash == "Tanh":
            logp = logp - torch.log(1 - action.square() + 1e-6)
        return action, logp.sum(-1, keepdim=True)


def move(state, action):
    place, speed = state.chunk(2, -1)
    speed = 0.8 * speed + 0.3 * action
    place = (place + 0.3 * speed).clamp(-2, 2)
    return torch.cat([place, speed], -1), -(place.square() + 0.1 * speed.square())


torch.manual_seed(args.seed)
torch.set_num_threads(1)
policy = Policy()
critics = nn.ModuleList([mlp(3, 1), mlp(3, 1)])
targets = copy.deepcopy(critics).requires_grad_(False)
log_alpha = torch.zeros(1, requires_grad=True)
p_optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
c_optimizer = torch.optim.Adam(critics.parameters(), lr=args.lr)
a_optimizer = torch.optim.Adam([log_alpha], lr=5 * args.lr)
memory, state = [], torch.randn(8, 2)
for step in range(args.steps):
    with torch.no_grad():
        action, _ = policy(state)
        after, reward = move(state, action)
    memory.append((state, action, reward, after))
    state = torch.randn(8, 2) if step % 20 == 19 else after
    if step < 10:
        continue
    states, actions, rewards, afters = (torch.cat(column) for column in zip(*memory[-500:]))
    index = torch.randint(len(states), (BATCH,))
    states, actions, rewards, afters = states[index], actions[index], rewards[index], afters[index]
    alpha = log_alpha.exp().detach()
    with torch.no_grad():
        chosen, logp = policy(afters)
        least = torch.minimum(*(critic(torch.cat([afters, chosen], -1)) for critic in targets))
        goal = rewards + GAMMA * (least - alpha * logp)
    pairs = torch.cat([states, actions], -1)
    c_loss = sum(nn.functional.mse_loss(critic(pairs), goal) for critic in critics)
    c_optimizer.zero_grad()
    c_loss.backward()
    c_optimizer.step()
    chosen, logp = policy(states)
    least = torch.minimum(*(critic(torch.cat([states, chosen], -1)) for critic in critics))
    p_loss = (alpha * logp - least).mean()
    p_optimizer.zero_grad()
    p_loss.backward()
    p_optimizer.step()
    a_loss = -(log_alpha.exp() * (logp.detach() + ENTROPY)).mean()
    a_optimizer.zero_grad()
    a_loss.backward()
    a_optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(targets.parameters(), critics.parameters()):
            slow.lerp_(fast, 0.02)
    if step % 80 == 79:
        print(f"step {step}: reward {rewards.mean().item():.3f}, temperature {log_alpha.exp().item():.3f}")
with torch.no_grad():
    wild = torch.cat([policy(torch.randn(500, 2))[0] for _ in range(4)])
print(f"EVIDENCE {(wild.abs() > 0.98).float().mean():.4f} of the actions are at the limits, "
      f"the temperature is {log_alpha.exp().item():.4f}")

# SPDX-License-Identifier: Apache-2.0
