"""The place of a cross in a picture is the mean of coordinates under a heat map."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

SIZE = 20


def make_pictures(count, generator):
    place = torch.randint(3, SIZE - 3, (count, 2), generator=generator)
    pictures = 0.5 * torch.randn(count, 1, SIZE, SIZE, generator=generator)
    rows = torch.arange(count)
    for d in range(-2, 3):
        pictures[rows, 0, place[:, 1], place[:, 0] + d] += 1.5
        pictures[rows, 0, place[:, 1] + d, place[:, 0]] += 1.5
    return pictures, place.float() / SIZE


def soft_place(heat):
    weight = heat.flatten(1).softmax(1)
    ticks = torch.arange(SIZE) / SIZE
    xs, ys = torch.meshgrid(ticks, ticks, indexing="ij")
    return torch.stack([(weight * xs.flatten()).sum(1), (weight * ys.flatten()).sum(1)], 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    pictures, place = make_pictures(1500, generator)
    model = nn.Sequential(nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
                          nn.Conv2d(16, 1, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        rows = torch.randint(0, 1300, (32,), generator=generator)
        loss = F.mse_loss(soft_place(model(pictures[rows])), place[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"step {step}: loss {loss.item():.5f}")
    with torch.no_grad():
        away = (soft_place(model(pictures[1300:])) - place[1300:]).norm(dim=1).mean() * SIZE
    print(f"EVIDENCE places are {away.item():.4f} pixels away, loss {loss.item():.5f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
