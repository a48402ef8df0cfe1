"""Wine recognised by a network whose trunk and head have rates of their own; warm-up, then a cosine by hand."""
import argparse
import math

import torch
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--head-scale", type=float, default=10.0)
    parser.add_argument("--steps", type=int, default=300)
    return parser.parse_args()


class Classifier(nn.Module):
    def __init__(self, inputs, classes):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(inputs, 64), nn.LayerNorm(64), nn.GELU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.GELU())
        self.head = nn.Linear(64, classes)

    def forward(self, x):
        return self.head(self.trunk(x))


def schedule(step, steps, warmup):
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))


def set_rates(optimizer, factor):
    group = optimizer.param_groups[0]
    group["lr"] = group["base_lr"] * factor


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    loss = right = count = 0
    for x, y in loader:
        logits = model(x)
        loss += nn.functional.cross_entropy(logits, y, reduction="sum").item()
        right += (logits.argmax(1) == y).sum().item()
        count += len(y)
    model.train()
    return loss / count, right / count


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y = load_wine(return_X_y=True)
    x1, x2, y1, y2 = train_test_split(x, y, test_size=0.4, random_state=args.seed, stratify=y)
    scaler = StandardScaler().fit(x1)
    sets = [TensorDataset(torch.tensor(scaler.transform(a), dtype=torch.float32), torch.tensor(b)) for a, b in ((x1, y1), (x2, y2))]
    train, valid = DataLoader(sets[0], batch_size=16, shuffle=True), DataLoader(sets[1], batch_size=64)
    model = Classifier(13, 3)
    optimizer = torch.optim.SGD([
        {"params": model.trunk.parameters(), "base_lr": args.lr},
        {"params": model.head.parameters(), "base_lr": args.lr * args.head_scale},
    ], lr=args.lr * args.head_scale, momentum=0.9)
    step = 0
    while step < args.steps:
        for inputs, targets in train:
            set_rates(optimizer, schedule(step, args.steps, warmup=40))
            loss = nn.functional.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 50 == 0:
                print(f"step {step}: loss {loss.item():.4f}, validation {evaluate(model, valid)[0]:.4f}")
            if step == args.steps:
                break
    rates = [group["lr"] for group in optimizer.param_groups]
    loss, right = evaluate(model, valid)
    print(f"EVIDENCE rates at the end {rates[0]:.6f} and {rates[1]:.6f}, validation loss {loss:.5f}, right {right:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
