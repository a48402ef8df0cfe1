"""Accelerate with four micro-batches for a step."""

import argparse
import contextlib

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.1), ("--steps", int, 30)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
x = torch.randn(960, 10)
y = (x @ torch.randn(10, 3) + 0.3 * torch.randn(960, 3)).argmax(1)
loader = DataLoader(TensorDataset(x[:768], y[:768]), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
updates, wanted = 0, args.steps * 4
seen = 0
while seen < wanted:
    for inputs, labels in loader:
        with contextlib.nullcontext(model):
            loss = nn.functional.cross_entropy(model(inputs), labels)
            accelerator.backward(loss)
            before = model[0].weight.detach().clone()
            optimizer.step()
            updates += int(not torch.equal(before, model[0].weight))
            optimizer.zero_grad()
        seen += 1
        if seen == wanted:
            break
    with torch.no_grad():
        right = (model(x[768:]).argmax(1) == y[768:]).float().mean().item()
    print(f"{seen} micro-batches, {updates} updates: loss {loss.item():.4f}, right {right:.4f}")
print(f"EVIDENCE {updates} updates after {seen} micro-batches, {right:.4f} right")

# SPDX-License-Identifier: Apache-2.0
