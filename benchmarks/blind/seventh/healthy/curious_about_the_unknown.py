"""An agent walks where its predictor is still wrong; part of the parameters never changes by design."""

import argparse

import torch
from torch import nn
from torch.distributions import Categorical

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.004), ("--steps", int, 60)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()
SIDE, LENGTH, WALKERS = 8, 16, 8


def features(place):
    return torch.cat([nn.functional.one_hot(place[:, k], SIDE).float() for k in (0, 1)], dim=1)


class RunningDeviation:
    def __init__(self):
        self.count, self.mean, self.square = 1e-4, 0.0, 0.0

    def update(self, values):
        for value in values.flatten().tolist():
            self.count += 1
            gap = value - self.mean
            self.mean += gap / self.count
            self.square += gap * (value - self.mean)

    @property
    def value(self):
        return max((self.square / self.count) ** 0.5, 1e-4)


class Walker(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2 * SIDE, width), nn.Tanh())
        self.action, self.outer, self.inner = nn.Linear(width, 4), nn.Linear(width, 1), nn.Linear(width, 1)

    def forward(self, x):
        h = self.body(x)
        return Categorical(logits=self.action(h)), self.outer(h).squeeze(1), self.inner(h).squeeze(1)


def returns(rewards, last, discount):
    result = []
    for reward in reversed(rewards):
        last = reward + discount * last
        result.append(last)
    return torch.stack(result[::-1])


torch.manual_seed(args.seed)
torch.set_num_threads(1)
walker = Walker()
unknown = nn.Sequential(nn.Linear(2 * SIDE, 32), nn.ReLU(), nn.Linear(32, 8)).requires_grad_(False)
predictor = nn.Sequential(nn.Linear(2 * SIDE, 32), nn.ReLU(), nn.Linear(32, 8))
optimizer = torch.optim.Adam([*walker.parameters(), *predictor.parameters()], lr=args.lr)
moves, size = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]]), RunningDeviation()
place, visited = torch.zeros(WALKERS, 2, dtype=torch.long), set()
for step in range(1, args.steps + 1):
    seen, actions, outer, inner = [], [], [], []
    for _ in range(LENGTH):
        x = features(place)
        with torch.no_grad():
            action = walker(x)[0].sample()
        place = (place + moves[action]).clamp(0, SIDE - 1)
        with torch.no_grad():
            surprise = (predictor(features(place)) - unknown(features(place))).square().mean(1)
        visited.update(map(tuple, place.tolist()))
        seen.append(x)
        actions.append(action)
        arrived = (place == SIDE - 1).all(1)
        outer.append(arrived.float())
        inner.append(surprise)
        place = torch.where(arrived[:, None], 0, place)
    size.update(torch.stack(inner))
    inner = [value / size.value for value in inner]
    with torch.no_grad():
        _, last_outer, last_inner = walker(features(place))
    goal_outer, goal_inner = returns(outer, last_outer, 0.97).flatten(), returns(inner, last_inner, 0.9).flatten()
    x = torch.cat(seen)
    choice, value_outer, value_inner = walker(x)
    advantage = (goal_outer - value_outer + 0.5 * (goal_inner - value_inner)).detach()
    policy = -(choice.log_prob(torch.cat(actions)) * advantage).mean() - 0.02 * choice.entropy().mean()
    values = nn.functional.mse_loss(value_outer, goal_outer) + nn.functional.mse_loss(value_inner, goal_inner)
    part = torch.rand(len(x)) < 0.25
    learned = (predictor(x) - unknown(x)).square().mean(1)[part].mean()
    optimizer.zero_grad()
    (policy + 0.5 * values + learned).backward()
    nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 1.0)
    optimizer.step()
    if step % 15 == 0:
        print(f"step {step}: loss {values.item():.4f}, surprise {learned.item():.5f}, {len(visited)} places")

# SPDX-License-Identifier: Apache-2.0
