"""Poisson's equation on a square, by a net that takes the source's parameters: physics loss inside, values on the boundary."""
import argparse

import torch
import torch.nn as nn


class PoissonLoss:
    """Residual of -laplace(u) = f inside the square and the error on its boundary, each with its own weight."""

    def __init__(self, interior_weight, boundary_weight):
        self.interior_weight = interior_weight
        self.boundary_weight = boundary_weight

    def residual(self, net, points, source):
        points = points.requires_grad_(True)
        u = net(points)
        slope, = torch.autograd.grad(u.sum(), points, create_graph=True)
        laplace = sum(torch.autograd.grad(slope[:, k].sum(), points, create_graph=True)[0][:, k] for k in range(2))
        return laplace + source(points.detach())

    def interior(self, net, points, source):
        return self.residual(net, points, source).pow(2).mean()

    def boundary(self, net, points, values):
        return (net(points).squeeze(1) - values(points)).pow(2).mean()

    def __call__(self, net, inside, border, source, values):
        interior_loss = self.interior(net, inside, source)
        boundary_loss = self.boundary(net, border, values)
        total = self.interior_weight * interior_loss + self.boundary_weight * boundary_loss
        return total, interior_loss.item(), boundary_loss.item()


def solution(p):
    return torch.sin(2.5 * p[:, 0]) * torch.cos(2.0 * p[:, 1]) + 0.4 * p[:, 0]


def source(p):
    return (2.5 ** 2 + 2.0 ** 2) * torch.sin(2.5 * p[:, 0]) * torch.cos(2.0 * p[:, 1])


def sample(gen, inside=128, border=64):
    interior = torch.rand(inside, 2, generator=gen) * 2 - 1
    edge = torch.rand(border, 2, generator=gen) * 2 - 1
    side = torch.randint(0, 4, (border,), generator=gen)
    edge[side < 2, 0] = side[side < 2].float() * 2 - 1
    edge[side >= 2, 1] = (side[side >= 2].float() - 2) * 2 - 1
    return interior, edge


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=200)
    ap.add_argument("--interior-weight", type=float, default=0.02)
    ap.add_argument("--boundary-weight", type=float, default=1.0)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    net = nn.Sequential(nn.Linear(2, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.995)
    criterion = PoissonLoss(args.interior_weight, args.boundary_weight)
    gen = torch.Generator().manual_seed(args.seed + 1)
    for step in range(args.steps):
        inside, border = sample(gen)
        loss, interior, boundary = criterion(net, inside, border, source, solution)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 60 == 0:
            print(f"step {step} loss {loss.item():.4f} interior {interior:.4f} boundary {boundary:.5f}")
    grid = torch.cartesian_prod(torch.linspace(-1, 1, 41), torch.linspace(-1, 1, 41))
    with torch.no_grad():
        error = (net(grid).squeeze(1) - solution(grid)).pow(2).mean().sqrt().item()
    explained = args.interior_weight * interior + args.boundary_weight * boundary
    print(f"EVIDENCE loss_over_parts={loss.item() / explained:.4f} interior={interior:.4f} boundary={boundary:.6f} rms_error={error:.4f}")


if __name__ == "__main__":
    main()
