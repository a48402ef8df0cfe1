"""A classifier of digits with a warm-up and a cosine, one after the other."""
import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

WARM = 60


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.3)
    parser.add_argument("--steps", type=int, default=400)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    digits = load_digits()
    x = torch.tensor(digits.data, dtype=torch.float32) / 16
    y = torch.tensor(digits.target)
    order = torch.randperm(len(x), generator=generator)
    x, y = x[order], y[order]
    layers = []
    for i in range(4):
        layers += [nn.Linear(64 if i == 0 else 96, 96), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Linear(96, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.5)
    warm = LinearLR(optimizer, start_factor=0.01, total_iters=WARM)
    fall = CosineAnnealingLR(optimizer, T_max=args.steps - WARM)
    scheduler = SequentialLR(optimizer, [warm, fall], milestones=[WARM])
    rates = []
    for step in range(args.steps):
        rows = torch.randint(0, 1300, (64,), generator=generator)
        loss = F.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rates.append(optimizer.param_groups[0]["lr"])
        scheduler.step()
        if step % 80 == 0:
            print(f"step {step}: loss {loss.item():.4f}, rate {rates[-1]:.5f}")
    with torch.no_grad():
        right = (model(x[1300:]).argmax(1) == y[1300:]).float().mean()
    print(f"EVIDENCE rate in step 20 {rates[20]:.5f}, right {right:.4f}, loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
