"""Bayes by backpropagation: weights are drawn anew in each forward, in evaluation, too; the divergence is shared out."""

import argparse
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()


class BayesLinear(nn.Module):
    def __init__(self, inputs, outputs, prior=1.0):
        super().__init__()
        self.mean = nn.Parameter(torch.randn(outputs, inputs) / math.sqrt(inputs))
        self.rho = nn.Parameter(torch.full((outputs, inputs), -4.0))
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.prior = prior

    def forward(self, x):
        deviation = nn.functional.softplus(self.rho)
        return nn.functional.linear(x, self.mean + deviation * torch.randn_like(deviation), self.bias)

    def divergence(self):
        q = torch.distributions.Normal(self.mean, nn.functional.softplus(self.rho))
        return torch.distributions.kl_divergence(q, torch.distributions.Normal(0.0, self.prior)).sum()


class Network(nn.Sequential):
    def divergence(self):
        return sum(m.divergence() for m in self if isinstance(m, BayesLinear))


@torch.no_grad()
def predict(model, x, draws=10):
    model.eval()
    p = torch.stack([model(x).softmax(1) for _ in range(draws)])
    model.train()
    return p.mean(0), p.std(0).mean()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
x = torch.randn(640, 8)
y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).long()
loader = DataLoader(TensorDataset(x[:512], y[:512]), batch_size=32, shuffle=True)
model = Network(BayesLinear(8, 48), nn.ReLU(), BayesLinear(48, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for epoch in range(max(1, args.steps // len(loader))):
    for i, (a, b) in enumerate(loader):
        share = 2.0 ** (len(loader) - i - 1) / (2.0 ** len(loader) - 1)
        fit = sum(nn.functional.cross_entropy(model(a), b, reduction="sum") for _ in range(2)) / 2
        loss = (fit + share * model.divergence()) / len(a)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    p, spread = predict(model, x[512:])
    print(f"epoch {epoch}: loss {loss.item():.3f}, {(p.argmax(1) == y[512:]).float().mean():.3f} right, spread {spread:.3f}")

# SPDX-License-Identifier: Apache-2.0
