"""A classifier with a layer of experts, one for each sample; a loss keeps their loads even."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()
EXPERTS, CHOSEN, WIDTH, CLASSES = 4, 1, 24, 8


class Experts(nn.Module):
    def __init__(self, normalise):
        super().__init__()
        self.normalise = normalise
        self.gate = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(WIDTH, 32), nn.SiLU(), nn.Linear(32, WIDTH))
                                     for _ in range(EXPERTS))

    def forward(self, x):
        scores = self.gate(x).softmax(-1)
        weight, index = scores.topk(CHOSEN, dim=-1)
        if self.normalise:
            weight = weight / weight.sum(-1, keepdim=True)
        output = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            row, place = (index == number).nonzero(as_tuple=True)
            output = output.index_add(0, row, weight[row, place, None] * expert(x[row]))
        load = nn.functional.one_hot(index, EXPERTS).float().mean((0, 1))
        return x + output, EXPERTS * (load * scores.mean(0)).sum()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.leave = nn.Linear(12, WIDTH), nn.Linear(WIDTH, CLASSES)
        self.layer = Experts(normalise=True)

    def forward(self, x):
        hidden, balance = self.layer(self.enter(x).tanh())
        return self.leave(hidden), balance


torch.manual_seed(args.seed)
torch.set_num_threads(1)
centres = torch.randn(2 * CLASSES, 12)
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(args.steps):
    place = torch.randint(2 * CLASSES, (64,))
    x, y = centres[place] + 0.5 * torch.randn(64, 12), place % CLASSES
    logits, balance = model(x)
    answer = nn.functional.cross_entropy(logits, y)
    loss = answer + 0.01 * balance
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 30 == 29:
        print(f"step {step}: loss {loss.item():.3f}, balance {balance.item():.3f}")
logits, _ = model(x)
gradient, = torch.autograd.grad(nn.functional.cross_entropy(logits, y), model.layer.gate.weight)
print(f"EVIDENCE the answers' loss gives the gate a gradient of norm {gradient.norm():.2e}")

# SPDX-License-Identifier: Apache-2.0
