"""Five models are trained at once by `functional_call` and `vmap`."""

import argparse

import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
def build():
    return nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))


params, buffers = stack_module_state([build() for _ in range(5)])
skeleton = build().to("meta")
optimizer = torch.optim.Adam(params.values(), lr=args.lr)


def forward(p, b, x):
    return functional_call(skeleton, (p, b), (x,))


for step in range(args.steps):
    x = torch.randn(64, 6)
    out = vmap(forward, in_dims=(0, 0, None))(params, buffers, x)
    loss = (out - x[:, :2].prod(1, keepdim=True)).pow(2).mean((1, 2)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
