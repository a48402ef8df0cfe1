"""A layer that is run to its fixed point without a graph; its gradient solves a fixed point of its own in a hook."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
WIDTH = 24


def solve(function, start, limit=30, tolerance=1e-4):
    x = start
    for _ in range(limit):
        following = function(x)
        if (following - x).norm() < tolerance * following.norm():
            return following
        x = following
    return x


class Equilibrium(nn.Module):
    def __init__(self):
        super().__init__()
        self.state, self.input = nn.Linear(WIDTH, WIDTH, bias=False), nn.Linear(8, WIDTH)
        with torch.no_grad():
            self.state.weight *= 0.5

    def cell(self, z, x):
        return torch.tanh(self.state(z) + self.input(x))

    def forward(self, x):
        with torch.no_grad():
            z = solve(lambda state: self.cell(state, x), torch.zeros(len(x), WIDTH))
        z = self.cell(z, x)
        if not torch.is_grad_enabled():
            return z
        start = z.detach().requires_grad_()
        again = self.cell(start, x)

        def implicit(grad):
            return solve(lambda g: torch.autograd.grad(again, start, g, retain_graph=True)[0] + grad, grad)

        z.register_hook(implicit)
        return z


torch.manual_seed(args.seed)
torch.set_num_threads(1)
x = torch.randn(512, 8)
y = (x[:, 0] * x[:, 1] + x[:, 2] > 0).long()
train = DataLoader(TensorDataset(x[:384], y[:384]), batch_size=32, shuffle=True)
model = nn.Sequential(Equilibrium(), nn.Linear(WIDTH, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for epoch in range(max(1, args.steps // len(train))):
    model.train()
    for a, b in train:
        loss = nn.functional.cross_entropy(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = (model(x[384:]).argmax(1) == y[384:]).float().mean()
        spectral = torch.linalg.matrix_norm(model[0].state.weight, 2)
        if spectral > 0.95:
            model[0].state.weight *= 0.95 / spectral
    print(f"epoch {epoch}: loss {loss.item():.3f}, {right:.3f} right, norm {spectral:.3f}")

# SPDX-License-Identifier: Apache-2.0
