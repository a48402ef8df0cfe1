"""A network makes the weights of another one from a description of the task; only the first has parameters."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=150)
args = parser.parse_args()
INPUTS, HIDDEN, TASKS = 4, 12, 5
SHAPES = {"first.weight": (HIDDEN, INPUTS), "first.bias": (HIDDEN,), "second.weight": (1, HIDDEN), "second.bias": (1,)}


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(INPUTS, HIDDEN), nn.Linear(HIDDEN, 1)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x))).squeeze(-1)


class Hyper(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.task = nn.Embedding(TASKS, 8)
        self.trunk = nn.Sequential(nn.Linear(8, width), nn.ReLU())
        self.makers = nn.ModuleDict({name.replace(".", "_"): nn.Linear(width, torch.Size(shape).numel())
                                     for name, shape in SHAPES.items()})

    def forward(self, task):
        hidden = self.trunk(self.task(task))
        return {name: self.makers[name.replace(".", "_")](hidden).view(shape) for name, shape in SHAPES.items()}


torch.manual_seed(args.seed)
torch.set_num_threads(1)
truth = torch.randn(TASKS, INPUTS)
with torch.device("meta"):
    main = Main()
hyper = Hyper()
optimizer = torch.optim.Adam(hyper.parameters(), lr=args.lr)
for step in range(args.steps):
    optimizer.zero_grad()
    total = 0.0
    for task in torch.randperm(TASKS)[:2].tolist():
        x = torch.randn(24, INPUTS)
        output = torch.func.functional_call(main, hyper(torch.tensor(task)), (x,))
        loss = nn.functional.mse_loss(output, torch.sin(x @ truth[task])) / 2
        loss.backward()
        total += loss.item()
    optimizer.step()
    if step % 30 == 29:
        print(f"step {step}: loss {total:.4f}")

# SPDX-License-Identifier: Apache-2.0
