"""Fine-tuning with rates that fall layer by layer towards the input; the lowest layers were trained before."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
DEPTH, DECAY = 5, 0.5


class Stack(nn.Module):
    def __init__(self, width=24, classes=3):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(DEPTH))
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return self.head(x)


def layerwise(model, rate):
    """The head has the full rate, each layer below half of the one above."""
    groups = [{"params": model.head.parameters(), "lr": rate, "name": "head"}]
    for number, block in enumerate(model.blocks):
        depth = number + 1
        groups.append({"params": block.parameters(), "lr": rate * DECAY ** depth, "name": f"block {number}"})
    return torch.optim.SGD(groups, lr=rate, momentum=0.9)


def fit(model, optimizer, x, y, steps, say):
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 0.2, 1.0, total_iters=10)
    for step in range(1, steps + 1):
        index = torch.randint(len(x), (32,))
        loss = nn.functional.cross_entropy(model(x[index]), y[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 20 == 0:
            print(f"{say}, step {step}: loss {loss.item():.4f}")


def task(x, seed):
    generator = torch.Generator().manual_seed(seed)
    weight = torch.randn(24, 3, generator=generator)
    return ((x.abs() @ weight)).argmax(1)


if __name__ == "__main__":
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x = torch.randn(1000, 24)
    model = Stack()
    fit(model, torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9), x, task(x, args.seed), args.steps, "before")
    nn.init.zeros_(model.head.weight)
    old = [block[0].weight.detach().clone() for block in model.blocks]
    fit(model, layerwise(model, args.lr), x, task(x, args.seed + 1), args.steps, "tuned")
    moved = [(block[0].weight - start).norm().item() for block, start in zip(model.blocks, old)]
    print("EVIDENCE blocks moved by " + ", ".join(f"{m:.4f}" for m in moved))

# SPDX-License-Identifier: Apache-2.0
