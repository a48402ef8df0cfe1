"""Coupling layers learn the density of points on two moons; the log-likelihood is maximised."""

import argparse
import math

import torch
from torch import nn

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.003), ("--steps", int, 200)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()


class Coupling(nn.Module):
    def __init__(self, keep, width=48):
        super().__init__()
        self.register_buffer("keep", torch.tensor(keep))
        self.net = nn.Sequential(nn.Linear(2, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        scale, shift = self.net(x * self.keep).chunk(2, dim=1)
        scale = torch.tanh(scale) * (1 - self.keep)
        return x * scale.exp() + shift * (1 - self.keep), scale.sum(1)

    def inverse(self, z):
        scale, shift = self.net(z * self.keep).chunk(2, dim=1)
        scale = torch.tanh(scale) * (1 - self.keep)
        return (z - shift * (1 - self.keep)) * (-scale).exp()


class Flow(nn.Module):
    def __init__(self, depth=6):
        super().__init__()
        self.layers = nn.ModuleList(Coupling([1.0, 0.0] if k % 2 else [0.0, 1.0]) for k in range(depth))

    def log_prob(self, x):
        total = torch.zeros(len(x))
        for layer in self.layers:
            x, volume = layer(x)
            total = total + volume
        return total - 0.5 * x.square().sum(1) - math.log(2 * math.pi)

    @torch.no_grad()
    def sample(self, count):
        z = torch.randn(count, 2)
        for layer in reversed(self.layers):
            z = layer.inverse(z)
        return z


def moons(count):
    turn, side = torch.rand(count) * math.pi, torch.randint(2, (count,)).float()
    x = torch.stack([turn.cos() + side - 0.5, (1 - 2 * side) * turn.sin() + 0.4 * side], dim=1)
    return x + 0.08 * torch.randn(count, 2)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
flow = Flow()
optimizer = torch.optim.Adam(flow.parameters(), lr=args.lr, maximize=True)
data, held_out = moons(3000), moons(500)
for step in range(1, args.steps + 1):
    value = flow.log_prob(data[torch.randint(len(data), (128,))]).mean()
    optimizer.zero_grad()
    value.backward()
    nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
    optimizer.step()
    if step % 50 == 0:
        flow.eval()
        with torch.no_grad():
            held = flow.log_prob(held_out).mean().item()
        flow.train()
        off = torch.cdist(flow.sample(200), data).amin(1).mean().item()
        print(f"step {step}: log-likelihood {value.item():.4f}, held out {held:.4f}, samples {off:.4f} off")

# SPDX-License-Identifier: Apache-2.0
