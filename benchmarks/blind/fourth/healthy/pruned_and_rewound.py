"""Lottery tickets: train, prune the smallest weights, put the rest back to where they were early on, train again."""

import argparse

import torch
from torch import nn
from torch.nn.utils import prune
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
ROUNDS, EARLY = 3, 4


def train(model, loader, steps, early=None):
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    made = 0
    model.train()
    while made < steps:
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            made += 1
            if early is not None and made == EARLY:
                early.update({name: p.detach().clone() for name, p in model.named_parameters()})
            if made == steps:
                break
    return loss.item()


@torch.no_grad()
def rewind(model, early):
    for name, p in model.named_parameters():
        p.copy_(early[name.removesuffix("_orig")])


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
x = torch.randn(640, 14)
y = (x @ torch.randn(14, 4)).argmax(1)
loader = DataLoader(TensorDataset(x[:512], y[:512]), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(14, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
layers = [(m, "weight") for m in model if isinstance(m, nn.Linear)]
early = {}
for turn in range(ROUNDS):
    loss = train(model, loader, args.steps // ROUNDS, early if turn == 0 else None)
    zeros = sum((m.weight == 0).sum().item() for m, _ in layers) / sum(m.weight.numel() for m, _ in layers)
    print(f"round {turn}: loss {loss:.3f}, accuracy {accuracy(model, x[512:], y[512:]):.3f}, {zeros:.2f} pruned")
    if turn < ROUNDS - 1:
        prune.global_unstructured(layers, pruning_method=prune.L1Unstructured, amount=0.4)
        rewind(model, early)
for m, name in layers:
    prune.remove(m, name)
print(f"accuracy {accuracy(model, x[512:], y[512:]):.3f} without the masks")

# SPDX-License-Identifier: Apache-2.0
