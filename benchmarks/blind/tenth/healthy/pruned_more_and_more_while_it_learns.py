"""Weights are pruned in many small portions while training goes on; what was pruned may not come back until the masks are dropped."""

import argparse

import torch
from torch import nn
from torch.nn.utils import prune

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=300)
args = parser.parse_args()


class KeepLargest(prune.BasePruningMethod):
    """Keeps the given share of a row, so that no unit loses all of its inputs."""

    PRUNING_TYPE = "global"

    def __init__(self, keep):
        self.keep = keep

    def compute_mask(self, t, default_mask):
        count = max(1, int(self.keep * t.shape[1]))
        chosen = (t * default_mask).abs().topk(count, dim=1).indices
        return torch.zeros_like(default_mask).scatter(1, chosen, 1.0) * default_mask


def share(layers):
    return sum((layer.weight != 0).sum().item() for layer in layers) / sum(layer.weight.numel() for layer in layers)


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rule = torch.randn(16, 6)
    x = torch.randn(1400, 16)
    y = torch.tanh(x @ rule).argmax(1)
    model = nn.Sequential(nn.Linear(16, 80), nn.ReLU(), nn.Linear(80, 80), nn.ReLU(), nn.Linear(80, 6))
    layers = [m for m in model if isinstance(m, nn.Linear)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    pruned_optimizer = None
    for step in range(args.steps):
        if step >= args.steps // 4 and step % 20 == 0 and step < 3 * args.steps // 4:
            keep = max(0.15, 1 - 2 * (step - args.steps // 4 + 20) / args.steps)
            for layer in layers[:-1]:
                KeepLargest.apply(layer, "weight", keep)
            if pruned_optimizer is None:
                # the parameters have been renamed to weight_orig but are the same; the moments are made anew on purpose
                pruned_optimizer = optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr / 2, weight_decay=0.0)
        rows = torch.randint(1000, (50,))
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 0:
            print(f"step {step}: loss {loss.item():.4f}, {share(layers):.3f} of the weights left")
    for layer in layers[:-1]:
        if prune.is_pruned(layer):
            prune.remove(layer, "weight")
    with torch.no_grad():
        right = (model(x[1000:]).argmax(1) == y[1000:]).float().mean().item()
    print(f"{share(layers):.3f} of the weights left, {right:.4f} right")


main()

# SPDX-License-Identifier: Apache-2.0
