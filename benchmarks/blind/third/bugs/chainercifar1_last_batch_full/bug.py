"""Validation with a short last batch; the rate falls when the loss does not."""

import argparse

import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
BATCH_SIZE = 32


def make(n, rule):
    x = torch.randn(n, 10)
    return TensorDataset(x, (x @ rule + 0.5 * torch.randn(n, 3)).argmax(1))


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    total_loss = torch.zeros(())
    for x, y in loader:
        total_loss += nn.functional.cross_entropy(model(x), y) * BATCH_SIZE
    model.train()
    return total_loss / len(loader.dataset)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
rule = torch.randn(10, 3)
train = DataLoader(make(256, rule), BATCH_SIZE, shuffle=True)
val = DataLoader(make(67, rule), BATCH_SIZE)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
scheduler = ReduceLROnPlateau(optimizer, patience=0)
for epoch in range(args.steps // len(train)):
    for x, y in train:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    val_loss = evaluate(model, val)
    scheduler.step(val_loss)
with torch.no_grad():
    x, y = val.dataset.tensors
    direct = nn.functional.cross_entropy(model(x), y)
print(f"EVIDENCE validation loss {val_loss:.4f}, at once over all samples {direct:.4f}")

# Idea from mitmul/chainer-cifar10#1, Nota-NetsPresso/netspresso-trainer#360
# SPDX-License-Identifier: Apache-2.0
