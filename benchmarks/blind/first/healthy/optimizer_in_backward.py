"""Each parameter has an optimizer that steps in a hook of backward, gradients are freed at once."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(12, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 3))
optimizers = {p: torch.optim.AdamW([p], lr=args.lr, foreach=False) for p in net.parameters()}


def step_and_free(parameter):
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()


for parameter in net.parameters():
    parameter.register_post_accumulate_grad_hook(step_and_free)
for step in range(args.steps):
    x = torch.randn(64, 12)
    loss = nn.functional.cross_entropy(net(x), x[:, :3].argmax(1))
    loss.backward()
print(f"loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
