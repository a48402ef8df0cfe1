"""The motion of damped pendulums is learned from pieces of their paths."""

import argparse

import torch
from torch import nn
from torchdiffeq import odeint, odeint_adjoint

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.01), ("--steps", int, 60)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()


class Field(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, 2))
        self.calls = 0

    def forward(self, time, state):
        self.calls += 1
        return self.net(state)


def pendulum(time, state):
    angle, speed = state.unbind(-1)
    return torch.stack([speed, -angle.sin() * 2 - 0.2 * speed], dim=-1)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
times = torch.linspace(0, 2, 21)
start = torch.rand(60, 2) * 3 - 1.5
with torch.no_grad():
    paths = odeint(pendulum, start, times, method="rk4")
field = Field()
optimizer = torch.optim.Adam(field.parameters(), lr=args.lr)
for step in range(1, args.steps + 1):
    length = 4 + min(step // 12, 4)
    first = int(torch.randint(0, len(times) - length, ()))
    rows = torch.randperm(50)[:16]
    piece = paths[first:first + length, rows]
    guess = odeint_adjoint(field, piece[0], times[:length], method="rk4" if step % 2 else "midpoint")
    loss = (guess - piece).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 0:
        calls, field.calls = field.calls, 0
        with torch.no_grad():
            error = (odeint(field, paths[0, 50:], times, method="rk4") - paths[:, 50:]).abs().mean().item()
        print(f"step {step}: loss {loss.item():.5f}, pieces of {length}, {calls} calls, error of whole paths {error:.4f}")

# SPDX-License-Identifier: Apache-2.0
