"""Inverse heat equation: a network fits noisy readings while the diffusivity is estimated with it."""

import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--steps", type=int, default=600)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

TRUE_K = 0.35


def exact(x, t):
    """Two modes of u_t = k u_xx on [0, 1] with zero ends."""
    first = torch.exp(-TRUE_K * math.pi**2 * t) * torch.sin(math.pi * x)
    third = torch.exp(-TRUE_K * 9 * math.pi**2 * t) * torch.sin(3 * math.pi * x)
    return first + 0.5 * third


class Field(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )
        self.log_k = nn.Parameter(torch.tensor(math.log(0.03)))

    def forward(self, x, t):
        return self.body(torch.cat([2 * x - 1, 4 * t - 1], 1))

    def residual(self, x, t):
        x.requires_grad_()
        t.requires_grad_()
        u = self(x, t)
        u_x, u_t = torch.autograd.grad(u.sum(), (x, t), create_graph=True)
        (u_xx,) = torch.autograd.grad(u_x.sum(), x, create_graph=True)
        return u_t - self.log_k.exp() * u_xx


sensor_x, sensor_t = torch.rand(256, 1), torch.rand(256, 1) * 0.5
readings = exact(sensor_x, sensor_t)
readings = readings + 0.01 * torch.randn_like(readings)

field = Field()
opt = torch.optim.Adam(
    [
        {"params": field.body.parameters()},
        {"params": [field.log_k], "lr": args.lr * 10},
    ],
    lr=args.lr,
)
sched = torch.optim.lr_scheduler.MultiStepLR(opt, [args.steps * 4 // 5], gamma=0.3)

for step in range(args.steps):
    x, t = torch.rand(128, 1), torch.rand(128, 1) * 0.5
    data = (field(sensor_x, sensor_t) - readings).pow(2).mean()
    physics = field.residual(x, t).pow(2).mean()
    zeros = torch.zeros_like(t)
    ends = field(zeros, t).pow(2).mean() + field(zeros + 1, t).pow(2).mean()
    loss = 10 * data + 0.05 * physics + ends
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if step % 300 == 0:
        print(f"step {step} data {data.item():.5f} physics {physics.item():.5f}")

k = field.log_k.exp().item()
with torch.no_grad():
    x, t = torch.rand(1000, 1), torch.rand(1000, 1) * 0.5
    error = (field(x, t) - exact(x, t)).norm() / exact(x, t).norm()
print(f"EVIDENCE diffusivity {k:.3f} (true {TRUE_K}), relative field error {error.item():.3f}")
