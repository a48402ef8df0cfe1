"""Two views of a sample: one network predicts what its slowly moving average says of the other view."""
import argparse
import copy
import math

import torch
import torch.nn.functional as F
from torch import nn


def momentum_at(step, total, base=0.95):
    progress = min(1.0, step / total)
    return 1 - (1 - base) * (math.cos(math.pi * progress) + 1) / 2


def view(x, generator):
    return x + 0.5 * torch.randn(x.shape, generator=generator)


def distance(p, z):
    return 2 - 2 * F.cosine_similarity(p, z, dim=1).mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=400)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    centres = torch.randn(8, 32, generator=generator) * 1.5
    labels = torch.randint(0, 8, (1200,), generator=generator)
    data = centres[labels] + torch.randn(1200, 32, generator=generator)
    encoder = nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 16))
    predictor = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16))
    target = copy.deepcopy(encoder).requires_grad_(False)
    optimizer = torch.optim.AdamW([*encoder.parameters(), *predictor.parameters()], lr=args.lr)
    per_epoch = 1000 // 50
    epochs = args.steps // per_epoch
    total = epochs * per_epoch
    step = 0
    for epoch in range(epochs):
        for rows in torch.randperm(1000, generator=generator).split(50):
            first, second = view(data[rows], generator), view(data[rows], generator)
            with torch.no_grad():
                target_first, target_second = target(first), target(second)
            loss = (distance(predictor(encoder(first)), target_second) + distance(predictor(encoder(second)), target_first)) / 2
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            m = momentum_at(step, total)
            with torch.no_grad():
                for slow, fast in zip(target.parameters(), encoder.parameters()):
                    slow.lerp_(fast, 1 - m)
            step += 1
        if epoch % 5 == 0:
            print(f"epoch {epoch}: loss {loss.item():.4f}, momentum {m:.5f}")
    with torch.no_grad():
        gap = sum((a - b).norm() ** 2 for a, b in zip(target.parameters(), encoder.parameters())).sqrt()
    print(f"EVIDENCE momentum half way {momentum_at(step // 2, total):.5f}, target is {gap:.4f} away, loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
