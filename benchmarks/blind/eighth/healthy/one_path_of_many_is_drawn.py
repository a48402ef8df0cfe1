"""A search for an architecture: each step trains one drawn path, another optimizer moves the chances of the paths."""

import argparse

import torch
from torch import nn
from torch.nn import functional as F


def candidates(width):
    return nn.ModuleList([
        nn.Identity(),
        nn.Sequential(nn.Linear(width, width), nn.ReLU()),
        nn.Sequential(nn.Linear(width, width // 4), nn.Tanh(), nn.Linear(width // 4, width)),
        nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU()),
    ])


class SuperNet(nn.Module):
    def __init__(self, width=32, cells=3):
        super().__init__()
        self.inp, self.head = nn.Linear(12, width), nn.Linear(width, 6)
        self.cells = nn.ModuleList(candidates(width) for _ in range(cells))
        self.alpha = nn.Parameter(torch.zeros(cells, 4))

    def weights(self):
        return [p for name, p in self.named_parameters() if name != "alpha"]

    def forward(self, x, path):
        x = F.relu(self.inp(x))
        for cell, choice in zip(self.cells, path):
            x = x + cell[choice](x)
        return self.head(x)

    def draw(self):
        chances = torch.distributions.Categorical(logits=self.alpha)
        path = chances.sample()
        return path.tolist(), chances.log_prob(path).sum(), chances.entropy().sum()


def main(args):
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    centres = torch.randn(12, 12)
    group = torch.randint(12, (2000,))
    x, y = centres[group] + 0.5 * torch.randn(2000, 12), group % 6
    net = SuperNet()
    weights = torch.optim.SGD(net.weights(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    chances = torch.optim.Adam([net.alpha], lr=args.lr)
    baseline = None
    for step in range(1, args.steps + 1):
        rows = torch.randint(800, (50,))
        path = [torch.randint(4, ()).item() for _ in net.cells] if step < args.steps // 4 else net.draw()[0]
        loss = F.cross_entropy(net(x[rows], path), y[rows])
        weights.zero_grad(set_to_none=True)  # what is not on the path has no gradient and stays
        loss.backward()
        weights.step()
        if step >= args.steps // 4 and step % 2 == 0:
            rows = 800 + torch.randint(700, (100,))
            path, log_chance, entropy = net.draw()
            with torch.no_grad():
                reward = -F.cross_entropy(net(x[rows], path), y[rows])
            baseline = reward if baseline is None else 0.9 * baseline + 0.1 * reward
            chances.zero_grad()
            (-(reward - baseline) * log_chance - 0.01 * entropy).backward()
            chances.step()
        if step % 60 == 0:
            best = net.alpha.argmax(1).tolist()
            with torch.no_grad():
                right = (net(x[1500:], best).argmax(1) == y[1500:]).float().mean().item()
            print(f"step {step}: loss {loss.item():.4f}, best path {best}, right {right:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.03)
    parser.add_argument("--steps", type=int, default=360)
    main(parser.parse_args())

# SPDX-License-Identifier: Apache-2.0
