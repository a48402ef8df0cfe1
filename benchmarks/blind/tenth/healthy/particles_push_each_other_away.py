"""Particles of weights that follow the posterior and push each other away: gradients of one particle go into the others' steps."""
import argparse

import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=300)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
COUNT = 8
x = torch.rand(300, 1) * 6 - 3
x = x[(x[:, 0].abs() > 1) | (x[:, 0] > 0.5)]
y = torch.sin(1.5 * x[:, 0]) + 0.15 * torch.randn(len(x))


def build():
    return nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))


nets = [build() for _ in range(COUNT)]
shape = build().to("meta")
params, _ = stack_module_state(nets)
params = {name: p.detach().requires_grad_() for name, p in params.items()}
optimizer = torch.optim.Adagrad(params.values(), lr=args.lr * 5)


def answers(inputs):
    return vmap(lambda p: functional_call(shape, p, (inputs,)).squeeze(1))(params)


def flat(tensors):
    return torch.cat([t.flatten(1) for t in tensors], 1)


for step in range(1, args.steps + 1):
    rows = torch.randint(len(x), (40,))
    errors = (answers(x[rows]) - y[rows]).pow(2).sum(1) / (2 * 0.15 ** 2) * len(x) / 40
    prior = sum(p.pow(2).flatten(1).sum(1) for p in params.values()) / 2
    optimizer.zero_grad()
    (errors + prior).sum().backward()
    with torch.no_grad():
        where, slope = flat(params.values()), flat([p.grad for p in params.values()])
        distance = torch.cdist(where, where).pow(2)
        width = distance.flatten().kthvalue(COUNT * COUNT // 2).values / torch.log(torch.tensor(COUNT + 1.0)) + 1e-6
        kernel = torch.exp(-distance / width)
        repulsion = 2 / width * (kernel.sum(1, keepdim=True) * where - kernel @ where)
        direction = (kernel @ slope - repulsion) / COUNT
        start = 0
        for p in params.values():
            size = p[0].numel()
            p.grad.copy_(direction[:, start:start + size].view_as(p))
            start += size
    optimizer.step()
    if step % 60 == 0:
        with torch.no_grad():
            spread = answers(torch.linspace(-3, 3, 50)[:, None]).std(0).mean()
        print(f"step {step}: energy {(errors + prior).mean().item():.2f}, spread {spread.item():.4f}")
with torch.no_grad():
    print(f"error of the mean {(answers(x).mean(0) - y).pow(2).mean().item():.4f}")

# SPDX-License-Identifier: Apache-2.0
