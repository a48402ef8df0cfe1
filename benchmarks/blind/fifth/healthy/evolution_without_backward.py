"""An evolution strategy: pairs of mirrored perturbations are tried, their ranks make `.grad`, Adam steps; no backward."""

import argparse

import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
PAIRS, SIGMA, TIME = 12, 0.2, 25


def play(policy, start):
    """A cart is to be stopped at the origin; the return is the negative cost."""
    place, speed = start[:, 0].clone(), start[:, 1].clone()
    cost = 0.0
    for _ in range(TIME):
        push = torch.tanh(policy(torch.stack([place, speed], 1)).squeeze(1))
        speed = speed + 0.4 * push
        place = place + 0.3 * speed
        cost = cost + (place.square() + 0.1 * push.square()).mean()
    return -cost.item() / TIME


torch.manual_seed(args.seed)
torch.set_num_threads(1)
known = torch.randn(64, 2)
policy = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1)).requires_grad_(False)
centre = parameters_to_vector(policy.parameters()).clone()
optimizer = torch.optim.Adam([centre], lr=args.lr)
for step in range(args.steps):
    start = torch.randn(16, 2)
    noise = torch.randn(PAIRS, len(centre))
    noise = torch.cat([noise, -noise])
    returns = []
    for direction in noise:
        vector_to_parameters(centre + SIGMA * direction, policy.parameters())
        returns.append(play(policy, start))
    ranks = torch.tensor(returns).argsort().argsort().float()
    scores = ranks / (len(ranks) - 1) - 0.5
    centre.grad = -(scores @ noise) / (len(noise) * SIGMA)
    optimizer.step()
    centre.mul_(1 - 1e-3)
    vector_to_parameters(centre, policy.parameters())
    if step % 15 == 14:
        print(f"step {step}: return {play(policy, known):.4f}, the best of the tries {max(returns):.4f}")

# SPDX-License-Identifier: Apache-2.0
