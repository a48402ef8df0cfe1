"""An ensemble of critics, of which two are drawn for each update of the actor."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

actor = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2), nn.Tanh())
critics = nn.ModuleList(nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1)) for _ in range(4))
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=args.lr)
critic_optimizer = torch.optim.Adam(critics.parameters(), lr=args.lr)
pessimism = []
for step in range(args.steps):
    state, action = torch.randn(64, 4), torch.rand(64, 2) * 2 - 1
    value = -(state[:, :2] - action).pow(2).sum(1, keepdim=True)
    both = torch.cat([state, action], 1)
    critic_loss = sum(nn.functional.mse_loss(c(both), value) for c in critics)
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()

    idx = torch.randperm(4)[:2].tolist()
    planned = torch.cat([state, actor(state)], 1)
    q1 = critics[idx[0]](planned)
    q2 = critics[idx[1]](planned)
    q = torch.min(q1, q2)
    actor_optimizer.zero_grad()
    (-q.mean()).backward()
    actor_optimizer.step()
    pessimism.append((q1 - q).mean().item())
print(f"EVIDENCE the minimum is {sum(pessimism) / len(pessimism):.5f} below the first critic, critic loss {critic_loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
