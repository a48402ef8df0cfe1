"""A policy imitates an expert on the states that it comes to itself; data grow, a new model is trained in each round."""

import argparse

import torch
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
ROUNDS, RUNS, TIME = 5, 12, 12


def expert(state):
    return (-(1.5 * state[:, :1] + 1.2 * state[:, 1:])).clamp(-1, 1)


def move(state, action):
    place, speed = state[:, :1], state[:, 1:]
    speed = speed + 0.2 * action + 0.05 * torch.randn_like(speed)
    return torch.cat([place + 0.2 * speed, speed], 1)


@torch.no_grad()
def visit(policy, share_of_expert):
    state, states = torch.randn(RUNS, 2), []
    for _ in range(TIME):
        states.append(state)
        by_expert = torch.rand(RUNS, 1) < share_of_expert
        own = expert(state) if policy is None else policy(state)
        state = move(state, torch.where(by_expert, expert(state), own))
    states = torch.cat(states)
    return TensorDataset(states, expert(states)), state.norm(dim=1).mean().item()


def train(data):
    policy = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    loader = DataLoader(data, batch_size=32, shuffle=True)
    step = 0
    while step < args.steps:
        for state, action in loader:
            loss = nn.functional.smooth_l1_loss(policy(state), action, beta=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step == args.steps:
                break
    return policy, loss.item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
policy, parts = None, []
for number in range(ROUNDS):
    part, left = visit(policy, 0.5 ** number)
    parts.append(part)
    policy, loss = train(ConcatDataset(parts))
    print(f"round {number}: {sum(map(len, parts))} samples, loss {loss:.4f}, the last states are {left:.3f} off")

# SPDX-License-Identifier: Apache-2.0
