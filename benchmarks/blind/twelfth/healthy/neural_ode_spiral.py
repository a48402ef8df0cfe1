"""Neural ODE learns a spiral from noisy pieces of random length with an adaptive solver; the number of evaluations varies."""
import argparse

import torch
from torch import nn
from torchdiffeq import odeint


def true_field(t, y):
    return y @ torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])


class Field(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, 2))
        self.calls = 0
        for m in self.net:
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, std=0.2)
                nn.init.zeros_(m.bias)

    def forward(self, t, y):
        self.calls += 1
        return self.net(y)


parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-2)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

times = torch.linspace(0.0, 10.0, 400)
start = torch.tensor([[2.0, 0.0]]) + 0.1 * torch.randn(1, 2)
with torch.no_grad():
    clean = odeint(true_field, start, times, method="dopri5")
noisy = clean + 0.01 * torch.randn_like(clean)

field = Field()
optimizer = torch.optim.Adam(field.parameters(), lr=args.lr)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps, eta_min=args.lr / 20)


def draw_pieces(n=32):
    length = int(torch.randint(8, 17, ()))
    s = torch.randperm(len(times) - length)[:n]
    return noisy[s, 0], times[:length], torch.stack([noisy[s + i, 0] for i in range(length)])


for step in range(1, args.steps + 1):
    y0, t, target = draw_pieces()
    field.calls = 0
    pred = odeint(field, y0, t, method="dopri5", rtol=1e-4, atol=1e-5)
    loss = (pred - target).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    calls = field.calls
    if step % 25 == 0 or step == args.steps:
        with torch.no_grad():
            whole = odeint(field, start, times[:120], method="dopri5", rtol=1e-4, atol=1e-5)
            error = (whole - clean[:120]).abs().mean().item()
        still = (clean[:120] - start).abs().mean().item()
        print(f"step {step}: loss {loss.item():.4f}, {len(t)} times, {calls} evaluations, "
              f"path {error:.4f} (standing still {still:.2f})")
# SPDX-License-Identifier: Apache-2.0
