"""No optimizer: weights are updated under `no_grad`, gradients cleared by hand."""

import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
w1 = (torch.randn(10, 32) / 3).requires_grad_()
b1 = torch.zeros(32, requires_grad=True)
w2 = (torch.randn(32, 1) / 6).requires_grad_()
for step in range(args.steps):
    x = torch.randn(64, 10)
    loss = ((torch.relu(x @ w1 + b1) @ w2 - x[:, :1].abs()) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for p in (w1, b1, w2):
            p -= args.lr * p.grad
            p.grad.zero_()
print(f"loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
