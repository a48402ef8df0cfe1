"""Regression under autocast in bfloat16; an exponential average of the weights is what is used in the end."""

import argparse
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=400)
args = parser.parse_args()


class Average:
    """Keeps a shadow of the model whose weights follow slowly."""

    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = copy.deepcopy(model).float()
        self.shadow.requires_grad_(False)
        self.shadow.eval()

    @torch.no_grad()
    def update(self, model):
        for slow, fast in zip(self.shadow.parameters(), model.parameters()):
            slow.mul_(self.decay).add_(fast.to(slow.dtype), alpha=1 - self.decay)


def error(model, dataset):
    x, y = dataset.tensors
    with torch.no_grad():
        dtype = next(model.parameters()).dtype
        return nn.functional.mse_loss(model(x.to(dtype)).float().squeeze(1), y).item()


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x = torch.randn(2500, 12)
    y = torch.sin(x[:, 0] * 2) + x[:, 1] * x[:, 2] + 0.3 * torch.randn(2500)
    train_set, valid_set = TensorDataset(x[:2000], y[:2000]), TensorDataset(x[2000:], y[2000:])
    loader = DataLoader(train_set, batch_size=64, shuffle=True)
    model = nn.Sequential(nn.Linear(12, 96), nn.GELU(), nn.Linear(96, 96), nn.GELU(), nn.Linear(96, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    average = Average(model, decay=0.995)
    start = copy.deepcopy(model)
    step = 0
    while step < args.steps:
        for inputs, targets in loader:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                output = model(inputs)
            loss = nn.functional.mse_loss(output.float().squeeze(1), targets)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            average.update(model)
            step += 1
            if step % 100 == 0:
                print(f"step {step}: loss {loss.item():.4f}, average {error(average.shadow, valid_set):.4f}")
            if step >= args.steps:
                break
    way = sum((p - q).norm() ** 2 for p, q in zip(model.parameters(), start.parameters())) ** 0.5
    rest = sum((p - q).norm() ** 2 for p, q in zip(model.parameters(), average.shadow.parameters())) ** 0.5
    print(f"EVIDENCE error of the average {error(average.shadow, valid_set):.4f}, distance over way {(rest / way).item():.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
