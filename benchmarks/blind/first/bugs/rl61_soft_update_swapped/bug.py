"""DDPG-like critic on a chain: the target network follows the online one slowly."""

import argparse
import copy

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

TAU, GAMMA = 0.01, 0.9


def soft_update(target, online):
    with torch.no_grad():
        for old, new in zip(target.parameters(), online.parameters()):
            old.copy_(TAU * old + (1 - TAU) * new)


online = nn.Sequential(nn.Linear(7, 48), nn.ReLU(), nn.Linear(48, 1))
target = copy.deepcopy(online).requires_grad_(False)
optimizer = torch.optim.Adam(online.parameters(), lr=args.lr)
gap = 0.0
for step in range(args.steps):
    state, action = torch.randn(64, 6), torch.rand(64, 1)
    after = 0.8 * state + 0.1 * action
    reward = -after.pow(2).mean(1, keepdim=True)
    with torch.no_grad():
        goal = reward + GAMMA * target(torch.cat([after, action], 1))
    loss = nn.functional.mse_loss(online(torch.cat([state, action], 1)), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    soft_update(target, online)
    gap = sum((a - b).abs().sum().item() for a, b in zip(target.parameters(), online.parameters()))
print(f"EVIDENCE the target is {gap:.4f} away from the online network, loss {loss:.5f}")

# SPDX-License-Identifier: Apache-2.0
