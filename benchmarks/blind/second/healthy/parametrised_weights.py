"""Weights with a norm and a direction, one that stays orthogonal, a positive one by softplus; the biases are learned by another optimizer."""

import argparse

import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class Positive(nn.Module):
    def forward(self, raw):
        return nn.functional.softplus(raw)

    def right_inverse(self, weight):
        return weight.expm1().clamp(min=1e-4).log()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.turn = parametrizations.orthogonal(nn.Linear(8, 8, bias=False))
        self.hidden = parametrizations.weight_norm(nn.Linear(8, 32))
        self.out = nn.Linear(32, 1)
        nn.init.uniform_(self.out.weight, 0.01, 0.2)
        parametrize.register_parametrization(self.out, "weight", Positive())

    def forward(self, x):
        return self.out(self.hidden(self.turn(x)).relu())


model = Net()
biases = [p for n, p in model.named_parameters() if n.endswith("bias")]
others = [p for n, p in model.named_parameters() if not n.endswith("bias")]
optimizers = [torch.optim.Adam(others, lr=args.lr), torch.optim.SGD(biases, lr=args.lr)]
for step in range(args.steps):
    x = torch.randn(64, 8)
    y = x[:, :2].relu().sum(1, keepdim=True)
    with parametrize.cached():
        loss = nn.functional.mse_loss(model(x), y) + 1e-4 * model.out.weight.sum()
    model.zero_grad()
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
w = model.turn.weight
error = (w @ w.t() - torch.eye(8)).abs().max().item()
parametrize.remove_parametrizations(model.hidden, "weight")
print(f"loss {loss.item():.4f}, orthogonal up to {error:.1e}, least weight {model.out.weight.min():.4f}")

# SPDX-License-Identifier: Apache-2.0
