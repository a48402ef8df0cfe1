"""A recurrent state is carried over batches and reset where an episode ends."""

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
cell, out = nn.GRUCell(3, 24), nn.Linear(24, 1)
optimizer = torch.optim.Adam([*cell.parameters(), *out.parameters()], lr=args.lr)
state, total = torch.zeros(16, 24), torch.zeros(16, 1)
for step in range(args.steps):
    loss = 0.0
    for t in range(5):
        x = torch.randn(16, 3)
        ended = torch.rand(16, 1) < 0.05
        state, total = state * ~ended, (total + x[:, :1]) * ~ended
        state = cell(x, state)
        loss = loss + nn.functional.mse_loss(out(state), total.tanh())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_([*cell.parameters(), *out.parameters()], 0.5)
    optimizer.step()
    state = state.detach()
print(f"loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
