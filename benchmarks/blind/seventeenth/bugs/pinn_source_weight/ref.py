"""Physics-informed network for the Poisson equation  -laplace(u) = f  on the unit square, u = g on its edge."""
import argparse
import math

import torch
import torch.nn as nn


def exact(xy):
    x, y = xy[:, 0], xy[:, 1]
    return torch.sin(math.pi * x) * torch.sin(2 * math.pi * y) + 0.5 * x


def source(xy):
    x, y = xy[:, 0], xy[:, 1]
    return 5 * math.pi ** 2 * torch.sin(math.pi * x) * torch.sin(2 * math.pi * y)


class Field(nn.Module):
    def __init__(self, width=40, depth=3):
        super().__init__()
        layers, n_in = [], 2
        for _ in range(depth):
            layers += [nn.Linear(n_in, width), nn.Tanh()]
            n_in = width
        self.net = nn.Sequential(*layers, nn.Linear(width, 1))

    def forward(self, xy):
        return self.net(2 * xy - 1).squeeze(-1)


def laplacian(model, xy):
    xy = xy.clone().requires_grad_(True)
    grad, = torch.autograd.grad(model(xy).sum(), xy, create_graph=True)
    total = 0.0
    for i in range(2):
        second, = torch.autograd.grad(grad[:, i].sum(), xy, create_graph=True)
        total = total + second[:, i]
    return total


def boundary_points(n, gen):
    pts = torch.rand(n, 2, generator=gen)
    side = torch.randint(4, (n,), generator=gen)
    axis, value = side // 2, (side % 2).float()
    pts[torch.arange(n), axis] = value
    return pts


class PoissonLoss(nn.Module):
    """Weighted sum of the residual inside and of the mismatch on the edge."""

    def __init__(self, interior_weight=0.005, boundary_weight=1.0):
        super().__init__()
        self.interior_weight, self.boundary_weight = interior_weight, boundary_weight

    def interior(self, model, xy):
        return (laplacian(model, xy) + source(xy)).pow(2).mean()

    def boundary(self, model, xy):
        return (model(xy) - exact(xy)).pow(2).mean()

    def forward(self, model, inside, edge):
        interior = self.interior(model, inside)
        boundary = self.boundary(model, edge)
        loss = self.interior_weight * interior
        loss = loss + self.boundary_weight * boundary
        return loss, interior.detach(), boundary.detach()


@torch.no_grad()
def relative_error(model, n=41):
    axis = torch.linspace(0, 1, n)
    xy = torch.cartesian_prod(axis, axis)
    return ((model(xy) - exact(xy)).norm() / exact(xy).norm()).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=100)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model, criterion = Field(), PoissonLoss()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    updates = 5
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.steps * updates, eta_min=args.lr * 0.05)
    for step in range(1, args.steps + 1):
        for _ in range(updates):
            inside, edge = torch.rand(256, 2, generator=gen), boundary_points(128, gen)
            loss, interior, boundary = criterion(model, inside, edge)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
        if step % 20 == 0:
            print(f"step {step:4d} loss {loss.item():.4f} interior {interior:.4f} boundary {boundary:.5f}")
    edge = boundary_points(512, gen)
    print(f"EVIDENCE rel_l2_error={relative_error(model):.4f} boundary_mse={criterion.boundary(model, edge).item():.5f}")


if __name__ == "__main__":
    main()
