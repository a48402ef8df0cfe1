"""Diffusion of points on two arcs: the network predicts velocities, a deterministic sampler follows them."""
import argparse
import math

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2 + 8, 96), nn.SiLU(), nn.Linear(96, 96), nn.SiLU(), nn.Linear(96, 2))

    def forward(self, x, t):
        angles = t[:, None] * torch.tensor([1.0, 2.0, 4.0, 8.0])
        return self.body(torch.cat([x, angles.sin(), angles.cos()], 1))


def levels(t):
    return torch.cos(t * math.pi / 2)[:, None], torch.sin(t * math.pi / 2)[:, None]


def velocity_of(signal, noise, alpha, sigma):
    return alpha * noise - sigma * signal


def sample(model, count, generator, steps=30):
    x = torch.randn(count, 2, generator=generator)
    times = torch.linspace(1, 0, steps + 1)
    for now, then in zip(times[:-1], times[1:]):
        alpha, sigma = levels(now.expand(count))
        v = model(x, now.expand(count))
        signal, noise = alpha * x - sigma * v, sigma * x + alpha * v
        alpha, sigma = levels(then.expand(count))
        x = alpha * signal + sigma * noise
    return x


def make_points(count, generator):
    angle = torch.rand(count, generator=generator) * math.pi
    upper = torch.rand(count, generator=generator) < 0.5
    x = torch.where(upper, angle.cos() - 0.5, 0.5 - angle.cos())
    y = torch.where(upper, angle.sin() - 0.25, 0.25 - angle.sin())
    return torch.stack([x, y], 1) * 1.3 + 0.04 * torch.randn(count, 2, generator=generator)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=1000)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    data = make_points(4000, generator)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        x = data[torch.randint(0, 4000, (128,), generator=generator)]
        t = torch.rand(len(x), generator=generator)
        alpha, sigma = levels(t)
        noise = torch.randn(x.shape, generator=generator)
        loss = F.mse_loss(model(alpha * x + sigma * noise, t), velocity_of(x, noise, alpha, sigma))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 200 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    with torch.no_grad():
        points = sample(model, 500, generator)
        away = torch.cdist(points, data).min(1).values.mean()
    print(f"EVIDENCE samples are {away.item():.4f} away from the data, loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
