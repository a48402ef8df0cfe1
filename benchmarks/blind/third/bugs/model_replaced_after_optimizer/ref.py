"""Whole models are pickled as checkpoints; the second half of the training goes on from one."""

import argparse
import os
import tempfile

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, x):
        return self.layers(x)


def fit(model, optimizer, steps):
    losses = []
    for _ in range(steps):
        x = torch.randn(32, 6)
        y = torch.stack([x[:, 0] * x[:, 1], x[:, 2:].sum(1)], 1)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def resume(path):
    model = Regressor()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    checkpoint = torch.load(path, weights_only=False)
    model.load_state_dict(checkpoint["model"].state_dict())
    optimizer.load_state_dict(checkpoint["optimizer"])
    return model, optimizer


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Regressor()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
losses = fit(model, optimizer, args.steps // 2)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "checkpoint.pt")
    torch.save({"model": model, "optimizer": optimizer.state_dict()}, path)
    model, optimizer = resume(path)
before = model.layers[0].weight.detach().clone()
losses += fit(model, optimizer, args.steps // 2)
moved = (model.layers[0].weight - before).norm().item()
print(f"EVIDENCE moved by {moved:.4f} after resuming, loss {losses[0]:.3f} to {losses[-1]:.3f}")

# SPDX-License-Identifier: Apache-2.0
