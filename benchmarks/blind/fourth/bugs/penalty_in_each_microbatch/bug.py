"""Four micro-batches make a step; a penalty on the weights of a sparse encoder is a part of the loss."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.03)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
WINDOW, L1, L2 = 4, 2e-3, 1e-3


class Selector(nn.Module):
    def __init__(self, features, width=24):
        super().__init__()
        self.gates = nn.Parameter(torch.ones(features))
        self.net = nn.Sequential(nn.Linear(features, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x * self.gates)[:, 0]

    def penalty(self):
        return L1 * self.gates.abs().sum() + L2 * sum(p.pow(2).sum() for p in self.net.parameters() if p.ndim > 1)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    total = sum(nn.functional.mse_loss(model(x), y, reduction="sum").item() for x, y in loader)
    model.train()
    return total / len(loader.dataset)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
x = torch.randn(768, 20)
y = torch.tanh(2 * x[:, 0]) + x[:, 1] - 0.5 * x[:, 2] + 0.2 * torch.randn(768)
train_loader = DataLoader(TensorDataset(x[:512], y[:512]), batch_size=16, shuffle=True)
val_loader = DataLoader(TensorDataset(x[512:], y[512:]), batch_size=128)
model = Selector(20)
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
per_epoch = len(train_loader) // WINDOW
for epoch in range(args.steps // per_epoch):
    optimizer.zero_grad()
    for i, (a, b) in enumerate(train_loader):
        loss = nn.functional.mse_loss(model(a), b) / WINDOW + model.penalty()
        loss.backward()
        if (i + 1) % WINDOW == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            optimizer.zero_grad()
    print(f"epoch {epoch}: loss {loss.item():.3f}, validation {evaluate(model, val_loader):.4f}")
norm = sum(p.pow(2).sum() for p in model.parameters()).sqrt()
print(f"EVIDENCE norm of the weights {norm:.4f}, mean gate {model.gates.abs().mean():.4f}")

# SPDX-License-Identifier: Apache-2.0
