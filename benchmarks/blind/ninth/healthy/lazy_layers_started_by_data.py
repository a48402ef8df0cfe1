"""A flow of normalising layers: widths are found by the first batch, scales start from its statistics."""
import argparse
import math

import torch
from sklearn.datasets import make_moons
from torch import nn


class ActNorm(nn.Module):
    """The first batch sets shift and scale; afterwards they are learned."""

    def __init__(self, features):
        super().__init__()
        self.shift, self.log_scale = nn.Parameter(torch.zeros(features)), nn.Parameter(torch.zeros(features))
        self.register_buffer("started", torch.tensor(False))

    def forward(self, x):
        if not self.started:
            with torch.no_grad():
                self.shift.copy_(-x.mean(0))
                self.log_scale.copy_(-(x.std(0) + 1e-3).log())
                self.started.fill_(True)
        return (x + self.shift) * self.log_scale.exp(), self.log_scale.sum().expand(len(x))


class Coupling(nn.Module):
    def __init__(self, half, features):
        super().__init__()
        self.half = half
        self.net = nn.Sequential(nn.LazyLinear(32), nn.Tanh(), nn.LazyLinear(features))

    def forward(self, x):
        kept, changed = (x[:, :1], x[:, 1:]) if self.half else (x[:, 1:], x[:, :1])
        log_s, t = self.net(kept).chunk(2, 1)
        log_s = torch.tanh(log_s)
        changed = (changed + t) * log_s.exp()
        return torch.cat([kept, changed] if self.half else [changed, kept], 1), log_s.sum(1)


class Flow(nn.ModuleList):
    def forward(self, x):
        total = torch.zeros(len(x))
        for layer in self:
            x, log_det = layer(x)
            total = total + log_det
        return -0.5 * (x.square() + math.log(2 * math.pi)).sum(1) + total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x = torch.tensor(make_moons(2000, noise=0.08, random_state=args.seed)[0], dtype=torch.float32) * 3 + 5
    flow = Flow(layer for i in range(5) for layer in (ActNorm(2), Coupling(i % 2, 2)))
    with torch.no_grad():
        first = flow(x[:256]).mean().item()  # makes the layers and starts the norms
    print(f"{sum(p.numel() for p in flow.parameters())} parameters, first likelihood {first:.3f}")
    optimizer = torch.optim.Adam(flow.parameters(), lr=args.lr)
    best, bad, step = -math.inf, 0, 0
    while step < args.steps and bad < 4:
        for rows in torch.randperm(1500).split(64):
            loss = -flow(x[rows] + 0.01 * torch.randn(len(rows), 2)).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
            optimizer.step()
            step += 1
            if step == args.steps:
                break
        with torch.no_grad():
            likelihood = flow(x[1500:]).mean().item()
        best, bad = (likelihood, 0) if likelihood > best else (best, bad + 1)
        print(f"step {step}: loss {loss.item():.3f}, likelihood {likelihood:.3f}, {bad} without a gain")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
