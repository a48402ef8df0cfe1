"""A trunk is pretrained without labels; each fold starts from a copy of it, the last model learns all for as long as folds needed."""

import argparse
import copy

import numpy as np
import torch
from sklearn.model_selection import GroupKFold
from torch import nn

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=320)
args = parser.parse_args()


class Net(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Linear(width, 10))
        self.back, self.head = nn.Linear(10, 16), nn.Linear(10, 3)

    def forward(self, x):
        return self.head(torch.relu(self.trunk(x)))


def pretrain(model, x, steps):
    optimizer = torch.optim.Adam([*model.trunk.parameters(), *model.back.parameters()], lr=args.lr)
    for _ in range(steps):
        rows = torch.randint(len(x), (64,))
        noisy = x[rows] * (torch.rand(64, 16) > 0.2)
        loss = nn.functional.mse_loss(model.back(torch.relu(model.trunk(noisy))), x[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"pretrained: loss {loss.item():.4f}")


def fit(model, x, y, steps, held_out=None):
    """Returns the step at which the held-out loss was least; without one, all steps are made."""
    optimizer = torch.optim.Adam([{"params": model.trunk.parameters(), "lr": args.lr / 5}, {"params": model.head.parameters()}],
                                 lr=args.lr)
    best, best_step = float("inf"), steps
    for step in range(1, steps + 1):
        rows = torch.randint(len(x), (32,))
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if held_out is not None and step % 5 == 0:
            with torch.no_grad():
                value = nn.functional.cross_entropy(model(held_out[0]), held_out[1]).item()
            if value < best:
                best, best_step = value, step
            elif step - best_step >= 20:
                break
    return best_step, best


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    mixing = torch.randn(6, 16)
    hidden = torch.randn(1300, 6)
    x = torch.tanh(hidden @ mixing) + 0.2 * torch.randn(1300, 16)
    y = (hidden[:, :3] + 0.3 * torch.randn(1300, 3)).argmax(1)
    groups = np.arange(300) // 6
    pretrained = Net()
    pretrain(pretrained, x[600:], args.steps // 4)
    needed = []
    for fold, (train, valid) in enumerate(GroupKFold(4).split(x[:300].numpy(), groups=groups)):
        model = copy.deepcopy(pretrained)
        model.back.requires_grad_(False)
        model.head.reset_parameters()
        step, loss = fit(model, x[train], y[train], args.steps // 5, (x[valid], y[valid]))
        needed.append(step)
        print(f"fold {fold}: least loss {loss:.4f} at step {step}")
    steps = int(np.mean(needed) * 4 / 3)
    final = copy.deepcopy(pretrained)
    fit(final, x[:300], y[:300], steps)
    with torch.no_grad():
        right = (final(x[300:600]).argmax(1) == y[300:600]).float().mean().item()
    print(f"all records for {steps} steps: {right:.4f} of the test right")


main()

# SPDX-License-Identifier: Apache-2.0
