"""A regression network with an average of its weights, which is saved and judged."""

import argparse
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=64)
args = parser.parse_args()


class ExponentialMovingAverage:
    def __init__(self, parameters, decay):
        self.decay = decay
        self.shadow = [p.detach().clone() for p in parameters]

    @torch.no_grad()
    def update(self, parameters):
        one_minus_decay = 1 - self.decay
        for s, p in zip(self.shadow, parameters):
            gap = s.float() - p.float()
            s.sub_(gap * one_minus_decay)

    @torch.no_grad()
    def copy_to(self, parameters):
        for s, p in zip(self.shadow, parameters):
            p.copy_(s)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    total = sum(nn.functional.mse_loss(model(x), y, reduction="sum").item() for x, y in loader)
    return total / len(loader.dataset)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
x = torch.randn(768, 6)
y = torch.sin(x[:, :1] * 2) + x[:, 1:2] * x[:, 2:3] + 0.1 * torch.randn(768, 1)
train = DataLoader(TensorDataset(x[:512], y[:512]), batch_size=32, shuffle=True)
val = DataLoader(TensorDataset(x[512:], y[512:]), batch_size=64)
model = nn.Sequential(nn.Linear(6, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
average = ExponentialMovingAverage(model.parameters(), decay=0.95)
for epoch in range(args.steps // len(train)):
    model.train()
    for a, b in train:
        loss = nn.functional.mse_loss(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update(model.parameters())
    print(f"epoch {epoch}: loss {loss.item():.4f}, validation {evaluate(model, val):.4f}")
smooth = copy.deepcopy(model)
average.copy_to(smooth.parameters())
print(f"EVIDENCE validation loss {evaluate(model, val):.4f}, of the average {evaluate(smooth, val):.4g}")

# SPDX-License-Identifier: Apache-2.0
