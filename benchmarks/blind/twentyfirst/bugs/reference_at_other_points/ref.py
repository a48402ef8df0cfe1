"""A flow model is tuned to a reward and held near its frozen original: both are asked about the same noisy points."""
import argparse
import copy

import torch
import torch.nn as nn


class Velocity(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, t], 1))


def rings(n, gen):
    angle = 2 * torch.pi * torch.rand(n, 1, generator=gen)
    radius = torch.where(torch.rand(n, 1, generator=gen) < 0.5, 1.0, 2.0) + 0.05 * torch.randn(n, 1, generator=gen)
    return torch.cat([radius * angle.cos(), radius * angle.sin()], 1)


def noisy_point(x1, gen):
    """A point on the way from noise to data, its time and the velocity there."""
    x0 = torch.randn(x1.shape, generator=gen)
    t = torch.rand(len(x1), 1, generator=gen)
    return (1 - t) * x0 + t * x1, t, x1 - x0


def preference(x1):
    """Points on the right are wanted."""
    return (2.0 * x1[:, :1]).sigmoid()


def flow_loss(model, x1, gen):
    xt, t, velocity = noisy_point(x1, gen)
    return (model(xt, t) - velocity).pow(2).mean()


def tuned_loss(model, reference, x1, gen, keep):
    xt, t, velocity = noisy_point(x1, gen)
    predicted = model(xt, t)
    with torch.no_grad():
        wanted = reference(xt, t)
    fit = (preference(x1) * (predicted - velocity).pow(2)).mean()
    distance = (predicted - wanted).pow(2).mean()
    return fit + keep * distance, distance


@torch.no_grad()
def generate(model, n, gen, steps=20):
    x = torch.randn(n, 2, generator=gen)
    for i in range(steps):
        x = x + model(x, torch.full((n, 1), i / steps)) / steps
    return x


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=400)
    ap.add_argument("--keep", type=float, default=0.5)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = Velocity()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        loss = flow_loss(model, rings(128, gen), gen)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"base model: loss {loss.item():.4f}")
    reference = copy.deepcopy(model).eval().requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr / 4)
    first = None
    for step in range(args.steps):
        loss, distance = tuned_loss(model, reference, rings(128, gen), gen, args.keep)
        first = distance.item() if first is None else first
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step} loss {loss.item():.4f} distance {distance.item():.4f}")
    right = (generate(model, 1000, gen)[:, 0] > 0).float().mean().item()
    print(f"EVIDENCE distance_at_the_first_step={first:.5f} last_distance={distance.item():.4f} on_the_right={right:.3f}")


if __name__ == "__main__":
    main()
