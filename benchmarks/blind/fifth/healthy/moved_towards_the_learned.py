"""Reptile: a copy learns a task for some steps, then the weights move a part of the way towards the copy's."""

import argparse
import copy
import math
import random

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()


def make_task():
    height, shift = random.uniform(0.5, 2.0), random.uniform(0, math.pi)
    return lambda x: height * torch.sin(x + shift)


def learn(model, task, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    for _ in range(steps):
        x = 10 * torch.rand(20, 1) - 5
        loss = nn.functional.mse_loss(model(x), task(x))
        model.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


random.seed(args.seed)
torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(1, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))
for round_number in range(args.steps):
    share = 0.5 * (1 - round_number / args.steps)
    task = make_task()
    learner = copy.deepcopy(model)
    last = learn(learner, task, random.choice([3, 5, 8]))
    with torch.no_grad():
        for own, learned in zip(model.parameters(), learner.parameters()):
            own.add_(learned - own, alpha=share)
    if round_number % 20 == 19:
        task = make_task()
        x = torch.linspace(-5, 5, 50).unsqueeze(1)
        trial = copy.deepcopy(model)
        before = nn.functional.mse_loss(trial(x), task(x)).item()
        learn(trial, task, 8)
        after = nn.functional.mse_loss(trial(x), task(x)).item()
        print(f"round {round_number}: loss {last:.3f}; a new task goes from {before:.3f} to {after:.3f} in 8 steps")

# SPDX-License-Identifier: Apache-2.0
