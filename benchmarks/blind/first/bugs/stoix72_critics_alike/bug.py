"""Twin critics as in TD3: the smaller of two independent estimates is the target."""

import argparse
import copy

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


def critic():
    return nn.Sequential(nn.Linear(5, 40), nn.ReLU(), nn.Linear(40, 1))


critic1 = critic()
critic2 = copy.deepcopy(critic1)
target1, target2 = copy.deepcopy(critic1), copy.deepcopy(critic2)
optimizer = torch.optim.Adam([*critic1.parameters(), *critic2.parameters()], lr=args.lr)
for step in range(args.steps):
    seen, then = torch.randn(64, 5), torch.randn(64, 5)
    reward = seen[:, :1] - seen[:, 1:2].abs()
    with torch.no_grad():
        goal = reward + 0.9 * torch.min(target1(then), target2(then))
    loss = nn.functional.mse_loss(critic1(seen), goal) + nn.functional.mse_loss(critic2(seen), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for target, online in ((target1, critic1), (target2, critic2)):
            for a, b in zip(target.parameters(), online.parameters()):
                a.lerp_(b, 0.05)
with torch.no_grad():
    apart = (critic1(seen) - critic2(seen)).abs().mean()
print(f"EVIDENCE the critics disagree by {apart:.5f}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
