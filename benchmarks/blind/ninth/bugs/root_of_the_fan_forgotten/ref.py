"""A deep plain network with He's initialisation written by hand; no norms."""
import argparse
import math

import torch
from sklearn.datasets import load_digits
from torch import nn


class DeepNet(nn.Module):
    def __init__(self, depth=10, width=64, classes=10):
        super().__init__()
        sizes = [64] + [width] * depth
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:]))
        self.out = nn.Linear(width, classes)
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, nn.Linear):
            std = math.sqrt(2.0 / module.in_features)
            nn.init.normal_(module.weight, mean=0.0, std=std)
            nn.init.zeros_(module.bias)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.out(x)


def get_batch(x, y, size, generator):
    rows = torch.randint(len(x), (size,), generator=generator)
    return x[rows], y[rows]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y = load_digits(return_X_y=True)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    order = torch.randperm(len(x))
    train, val = order[:1400], order[1400:]
    mean, std = x[train].mean(0), x[train].std(0) + 0.1
    x = (x - mean) / std
    generator = torch.Generator().manual_seed(args.seed)
    model = DeepNet()
    with torch.no_grad():
        spread = model(x[train]).std().item()
    print(f"{sum(p.numel() for p in model.parameters())} parameters, spread of the first logits {spread:.3g}")
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=20)
    for it in range(args.steps):
        xb, yb = get_batch(x[train], y[train], 48, generator)
        loss = nn.functional.cross_entropy(model(xb), yb)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        warmup.step()
        if it % 60 == 0:
            print(f"iter {it}: loss {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        right = (model(x[val]).argmax(1) == y[val]).float().mean().item()
    print(f"EVIDENCE loss {loss.item():.4f}, validation accuracy {right:.4f}, spread of the first logits {spread:.3g}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
