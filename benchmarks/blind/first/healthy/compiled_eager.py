"""`torch.compile` with the eager backend, saved without its prefix."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 3))
compiled = torch.compile(net, backend="eager")
optimizer = torch.optim.AdamW(compiled.parameters(), lr=args.lr)
for step in range(args.steps):
    x = torch.randn(64, 10)
    loss = nn.functional.cross_entropy(compiled(x), x[:, :3].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
state = {name.removeprefix("_orig_mod."): value for name, value in compiled.state_dict().items()}
net.load_state_dict(state)
print(f"loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
