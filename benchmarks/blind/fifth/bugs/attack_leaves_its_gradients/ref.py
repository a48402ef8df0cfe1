"""Adversarial training: samples are moved to raise the loss, the model learns from the moved ones."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
REACH, MOVES, CLASSES = 0.3, 3, 4


def attack(model, x, label):
    moved = x + REACH * (2 * torch.rand_like(x) - 1)
    for _ in range(MOVES):
        moved.requires_grad_()
        nn.functional.cross_entropy(model(moved), label).backward()
        moved = moved.detach() + REACH / MOVES * moved.grad.sign()
        moved = torch.maximum(torch.minimum(moved, x + REACH), x - REACH)
    return moved


def samples(count):
    label = torch.randint(CLASSES, (count,))
    return centres[label] + 0.5 * torch.randn(count, 12), label


torch.manual_seed(args.seed)
torch.set_num_threads(1)
centres = torch.randn(CLASSES, 12)
model = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, CLASSES))
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
for step in range(args.steps):
    x, label = samples(48)
    moved = attack(model, x, label)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(moved), label)
    loss.backward()
    if step == args.steps - 1:
        taken = torch.cat([p.grad.flatten() for p in model.parameters()])
        own = torch.autograd.grad(nn.functional.cross_entropy(model(moved), label), list(model.parameters()))
        ratio = (taken.norm() / torch.cat([g.flatten() for g in own]).norm()).item()
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step}: loss {loss.item():.3f}")
print(f"EVIDENCE the gradient of a step is {ratio:.3f} times that of its loss")

# SPDX-License-Identifier: Apache-2.0
