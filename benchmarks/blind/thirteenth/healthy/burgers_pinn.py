"""A physics-informed network for the viscous Burgers equation: Adam with residual-based resampling, then L-BFGS."""

import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=4e-3)
parser.add_argument("--steps", type=int, default=360, help="Adam steps")
parser.add_argument("--points", type=int, default=400)
parser.add_argument("--viscosity", type=float, default=0.1)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class FieldNet(nn.Module):
    def __init__(self, width=24, depth=3):
        super().__init__()
        sizes = [2] + [width] * depth
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:])])
        self.out = nn.Linear(width, 1)
        for layer in [*self.layers, self.out]:
            nn.init.xavier_normal_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, t, x):
        h = torch.cat([2 * t - 1, x], dim=1)
        for layer in self.layers:
            h = torch.tanh(layer(h))
        return self.out(h)


def derivative(u, v):
    return torch.autograd.grad(u, v, torch.ones_like(u), create_graph=True)[0]


def residual(net, t, x):
    t, x = t.requires_grad_(), x.requires_grad_()
    u = net(t, x)
    u_t, u_x = derivative(u, t), derivative(u, x)
    return u_t + u * u_x - args.viscosity * derivative(u_x, x)


def collocation(n):
    return torch.rand(n, 1), 2 * torch.rand(n, 1) - 1


def refine(net, t, x, keep=0.75):
    """Replace a part of the points by those of a pool where the residual is large."""
    pool_t, pool_x = collocation(2000)
    weight = residual(net, pool_t, pool_x).detach().abs().squeeze(1)
    k = int(len(t) * (1 - keep))
    chosen = torch.multinomial(weight + 1e-6, k)
    stay = torch.randperm(len(t))[k:]
    t = torch.cat([t.detach()[stay], pool_t.detach()[chosen]])
    x = torch.cat([x.detach()[stay], pool_x.detach()[chosen]])
    return t, x


def losses(net, t, x):
    pde = residual(net, t, x).pow(2).mean()
    start = (net(torch.zeros_like(x0), x0) - u0).pow(2).mean()
    walls = (net(tb, -torch.ones_like(tb)).pow(2) + net(tb, torch.ones_like(tb)).pow(2)).mean()
    return pde, start, walls


x0 = torch.linspace(-1, 1, 64).unsqueeze(1)
u0 = -torch.sin(math.pi * x0)
tb = torch.linspace(0, 1, 32).unsqueeze(1)

net = FieldNet()
opt = torch.optim.Adam(net.parameters(), lr=args.lr)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.998)
t, x = collocation(args.points)
for step in range(args.steps):
    if step > 0 and step % 60 == 0:
        t, x = refine(net, t, x)
    pde, start, walls = losses(net, t, x)
    loss = pde + 10 * start + 10 * walls
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if step % 90 == 0:
        print(f"step {step} pde {pde.item():.4f} start {start.item():.4f} walls {walls.item():.4f}")

polish = torch.optim.LBFGS(net.parameters(), max_iter=40, history_size=20, line_search_fn="strong_wolfe")


def closure():
    polish.zero_grad()
    pde, start, walls = losses(net, t, x)
    loss = pde + 10 * start + 10 * walls
    loss.backward()
    return loss


polish.step(closure)
test_t, test_x = collocation(1000)
rms = residual(net, test_t, test_x).detach().pow(2).mean().sqrt().item()
pde, start, walls = losses(net, t, x)
print(f"after L-BFGS: pde {pde.item():.5f} start {start.item():.5f} walls {walls.item():.5f}, rms residual {rms:.4f}")
