"""A value network learns from weighted samples of a buffer; its copy is replaced now and then."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
online, frozen = nn.Linear(6, 3), nn.Linear(6, 3)
frozen.load_state_dict(online.state_dict())
optimizer = torch.optim.Adam(online.parameters(), lr=args.lr)
states, rewards, priority = torch.randn(256, 6), torch.randn(256), torch.ones(256)
actions, after = torch.randint(0, 3, (256,)), torch.randn(256, 6)
for step in range(args.steps):
    rows = torch.multinomial(priority**0.6, 32)
    weight = (256 * priority[rows] / priority.sum()) ** -0.4
    q = online(states[rows]).gather(1, actions[rows, None]).squeeze(1)
    with torch.no_grad():
        best = online(after[rows]).argmax(1, keepdim=True)
        goal = rewards[rows] + 0.9 * frozen(after[rows]).gather(1, best).squeeze(1)
    error = q - goal
    loss = (weight / weight.max() * error.pow(2)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    priority[rows] = error.detach().abs() + 1e-3
    if step % 10 == 9:
        frozen.load_state_dict(online.state_dict())
print(f"loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
