"""Weights are shaken for forward and backward, and put back before the step: flat minima are preferred."""

import argparse
import contextlib

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()


@contextlib.contextmanager
def shaken(model, size, generator):
    """Gaussian noise relative to each matrix' norm; biases stay."""
    kept = {}
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.ndim > 1 and size > 0:
                kept[name] = p.clone()
                p.add_(size * p.std() * torch.randn(p.shape, generator=generator))
    try:
        yield
    finally:
        with torch.no_grad():
            for name, p in model.named_parameters():
                if name in kept:
                    p.copy_(kept[name])


@torch.no_grad()
def error(model, x, y):
    model.eval()
    value = nn.functional.mse_loss(model(x), y).item()
    model.train()
    return value


torch.manual_seed(args.seed)
torch.set_num_threads(1)
generator = torch.Generator().manual_seed(args.seed + 9)
truth = torch.randn(9, 2)
x, valid_x = torch.randn(320, 9), torch.randn(160, 9)
y, valid_y = torch.sin(x @ truth / 2), torch.sin(valid_x @ truth / 2)
model = nn.Sequential(nn.Linear(9, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 2))
optimizer = torch.optim.RMSprop(model.parameters(), lr=args.lr, momentum=0.5)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
step = 0
while step < args.steps:
    for batch_x, batch_y in loader:
        size = 0.2 * max(0.0, 1 - 1.5 * step / args.steps)
        with shaken(model, size, generator):
            loss = nn.functional.mse_loss(model(batch_x), batch_y)
            optimizer.zero_grad()
            loss.backward()
        optimizer.step()
        step += 1
    with shaken(model, 0.1, generator):
        rough = error(model, valid_x, valid_y)
    print(f"step {step}: loss {loss.item():.4f}, validation {error(model, valid_x, valid_y):.4f}, shaken {rough:.4f}")

# SPDX-License-Identifier: Apache-2.0
