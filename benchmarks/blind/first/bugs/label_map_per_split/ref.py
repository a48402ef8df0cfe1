"""Classes come as names; training and validation must number them alike."""

import argparse
import random

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

random.seed(args.seed)
CENTERS = {name: torch.randn(10) for name in ("wolf", "bear", "lynx", "deer", "hare")}


def collect(n, weights):
    names = random.choices(list(CENTERS), weights, k=n)
    return torch.stack([CENTERS[name] + torch.randn(10) for name in names]), names


def numbering(names):
    return {name: i for i, name in enumerate(dict.fromkeys(names))}


train_x, train_names = collect(600, [5, 4, 3, 2, 1])
val_x, val_names = collect(200, [1, 2, 3, 4, 5])
number = numbering(train_names)
train_y = torch.tensor([number[name] for name in train_names])
val_number = number
val_y = torch.tensor([val_number[name] for name in val_names])

model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
for step in range(args.steps):
    model.train()
    batch = torch.randint(0, 600, (50,))
    loss = nn.functional.cross_entropy(model(train_x[batch]), train_y[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        model.eval()
        with torch.no_grad():
            out = model(val_x)
            val_loss = nn.functional.cross_entropy(out, val_y)
            accuracy = (out.argmax(1) == val_y).float().mean()
print(f"EVIDENCE validation: accuracy {accuracy:.3f}, loss {val_loss:.3f}; training loss {loss:.3f}")

# SPDX-License-Identifier: Apache-2.0
