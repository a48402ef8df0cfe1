"""A network is trained, the smallest weights are pruned, the rest is fine-tuned and saved."""

import argparse
import os
import tempfile

import torch
from torch import nn
from torch.nn.utils import prune
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=240)
args = parser.parse_args()


def make_data(count, teacher):
    x = torch.randn(count, 20)
    with torch.no_grad():
        return TensorDataset(x, teacher(x).argmax(1))


def train(model, loader, steps, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=1e-4)
    step = 0
    while step < steps:
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 40 == 0:
                print(f"step {step}: loss {loss.item():.4f}")
            if step >= steps:
                break


def accuracy(model, dataset):
    x, y = dataset.tensors
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    teacher = nn.Sequential(nn.Linear(20, 12), nn.Tanh(), nn.Linear(12, 5))
    train_set, valid_set = make_data(1500, teacher), make_data(500, teacher)
    loader = DataLoader(train_set, batch_size=50, shuffle=True)
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5))
    layers = [layer for layer in model if isinstance(layer, nn.Linear)]
    train(model, loader, args.steps // 2, args.lr)
    print(f"dense: {accuracy(model, valid_set):.3f} right")

    prune.global_unstructured([(layer, "weight") for layer in layers], prune.L1Unstructured, amount=0.8)
    print(f"pruned: {accuracy(model, valid_set):.3f} right")
    for layer in layers:
        prune.remove(layer, "weight")
    train(model, loader, args.steps // 2, 0.2 * args.lr)

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "sparse.pt")
        torch.save({name: value.to_sparse() for name, value in model.state_dict().items()}, path)
        size = os.path.getsize(path)
    zeros = sum((layer.weight == 0).sum().item() for layer in layers) / sum(layer.weight.numel() for layer in layers)
    print(f"EVIDENCE share of weights that are nought {zeros:.4f}, {size} bytes, {accuracy(model, valid_set):.4f} right")


main()

# SPDX-License-Identifier: Apache-2.0
