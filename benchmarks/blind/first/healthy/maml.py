"""Inner steps on functional copies of the weights, an outer step through them."""

import argparse

import torch
from torch import nn
from torch.func import functional_call

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=25)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
for step in range(args.steps):
    outer = 0.0
    for task in range(3):
        phase, height = 3.14 * torch.rand(()), 0.5 + torch.rand(())
        x = 6 * torch.rand(20, 1) - 3
        y = height * torch.sin(x + phase)
        weights = dict(net.named_parameters())
        for _ in range(2):
            inner = nn.functional.mse_loss(functional_call(net, weights, (x[:10],)), y[:10])
            grads = torch.autograd.grad(inner, list(weights.values()), create_graph=True)
            weights = {name: w - 0.05 * g for (name, w), g in zip(weights.items(), grads)}
        outer = outer + nn.functional.mse_loss(functional_call(net, weights, (x[10:],)), y[10:])
    optimizer.zero_grad()
    outer.backward()
    optimizer.step()
print(f"loss {outer:.4f}")

# SPDX-License-Identifier: Apache-2.0
