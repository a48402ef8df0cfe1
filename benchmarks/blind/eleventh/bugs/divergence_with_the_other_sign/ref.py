"""A continuous normalizing flow of points in the plane, solved by torchdiffeq."""
import argparse
import math

import torch
from sklearn.datasets import make_moons
from torch import nn
from torchdiffeq import odeint


class Velocity(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 2))

    def forward(self, t, x):
        return self.net(torch.cat([x, t.expand(len(x), 1)], 1))


class Augmented(nn.Module):
    """The points together with the change of their log-density: d log p / dt = -tr(df/dx)."""

    def __init__(self, velocity):
        super().__init__()
        self.velocity = velocity

    def forward(self, t, state):
        x, _ = state
        with torch.enable_grad():
            x = x.requires_grad_(True) if not x.requires_grad else x
            f = self.velocity(t, x)
            trace = sum(torch.autograd.grad(f[:, i].sum(), x, create_graph=True)[0][:, i] for i in range(2))
        return f, -trace[:, None]


def log_prob(model, x, times):
    """Data at time one are carried back to time nought, where their density is normal."""
    start = torch.zeros(len(x), 1)
    z, change = odeint(model, (x, start), times.flip(0), method="rk4")
    z, change = z[-1], change[-1]
    base = -0.5 * (z ** 2).sum(1) - math.log(2 * math.pi)
    return base - change.squeeze(1), z


def draw(number, seed=None):
    points, _ = make_moons(number, noise=0.08, random_state=seed)
    points = (points - [0.5, 0.25]) / [0.87, 0.5]
    return torch.tensor(points, dtype=torch.float32)


def grid_mass(model, times, size=24, limit=3.5):
    """What the density adds up to on a grid: one if it is a density."""
    line = torch.linspace(-limit, limit, size)
    grid = torch.cartesian_prod(line, line)
    values, _ = log_prob(model, grid, times)
    return values.detach().exp().sum().item() * (line[1] - line[0]).item() ** 2


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--steps", type=int, default=45)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    data = draw(2000, args.seed)
    velocity = Velocity()
    model = Augmented(velocity)
    times = torch.linspace(0.0, 1.0, 7)
    optimizer = torch.optim.Adam(velocity.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        batch = data[torch.randint(len(data), (100,))]
        values, z = log_prob(model, batch, times)
        loss = -values.mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(velocity.parameters(), 5.0)
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step}: negative log-likelihood {loss.item():.4f}, spread of z {z.std().item():.4f}")
    print(f"EVIDENCE negative log-likelihood {loss.item():.4f}, the density adds up to {grid_mass(model, times):.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
