"""Before the real training: is the first loss that of guessing, does a sample depend on others, can a batch be learned?"""

import argparse
import copy
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
CLASSES = 6


def build():
    return nn.Sequential(nn.Linear(15, 48), nn.LayerNorm(48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, CLASSES))


def check_first_loss(model, x, y):
    with torch.no_grad():
        loss = nn.functional.cross_entropy(model.eval()(x), y).item()
    model.train()
    print(f"first loss {loss:.3f}, guessing gives {math.log(CLASSES):.3f}")


def check_independence(model, x):
    """The third answer shall depend on the third input only."""
    x = x[:8].clone().requires_grad_()
    model.eval()
    model(x)[3].sum().backward()
    used = x.grad.abs().sum(1) > 0
    model.zero_grad(set_to_none=True)
    model.train()
    print(f"inputs that answer 3 depends on: {used.nonzero().flatten().tolist()}")


def check_memory(model, x, y):
    trial = copy.deepcopy(model)
    for module in trial.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    optimizer = torch.optim.Adam(trial.parameters(), lr=3 * args.lr)
    for step in range(60):
        loss = nn.functional.cross_entropy(trial(x), y)
        if loss.item() < 0.02:
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"one batch: loss {loss.item():.4f} after {step} steps")


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x = torch.randn(480, 15)
    y = (x @ torch.randn(15, CLASSES)).argmax(1)
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    probe = build()
    first = next(iter(loader))
    check_first_loss(probe, *first)
    check_independence(probe, first[0])
    check_memory(probe, *first)
    torch.manual_seed(args.seed + 1)
    model = build()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [args.steps // 2, 3 * args.steps // 4], gamma=0.3)
    step = 0
    while step < args.steps:
        for batch_x, batch_y in loader:
            loss = nn.functional.cross_entropy(model(batch_x), batch_y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            step += 1
        print(f"step {step}: loss {loss.item():.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
