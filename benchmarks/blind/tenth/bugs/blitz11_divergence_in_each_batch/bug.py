"""A Bayesian network by reparametrised weights: likelihood of batches, divergence from the prior shared out among them."""
import argparse
import math

import torch
import torch.nn.functional as F
from sklearn.datasets import load_diabetes
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=500)


class BayesLinear(nn.Module):
    def __init__(self, inputs, outputs, prior_std=1.0):
        super().__init__()
        self.mean = nn.Parameter(torch.randn(outputs, inputs) / math.sqrt(inputs))
        self.rho = nn.Parameter(torch.full((outputs, inputs), -4.0))
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.prior_std = prior_std

    def forward(self, x):
        std = F.softplus(self.rho)
        return F.linear(x, self.mean + std * torch.randn_like(std), self.bias)

    def divergence(self):
        std = F.softplus(self.rho)
        ratio = (std.pow(2) + self.mean.pow(2)) / self.prior_std ** 2
        return 0.5 * (ratio - 1 - 2 * torch.log(std / self.prior_std)).sum()


class BayesNet(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.layers = nn.ModuleList([BayesLinear(inputs, 24), BayesLinear(24, 1)])
        self.log_noise = nn.Parameter(torch.tensor(-0.5))

    def forward(self, x):
        return self.layers[1](torch.tanh(self.layers[0](x))).squeeze(1)

    def divergence(self):
        return sum(layer.divergence() for layer in self.layers)


def negative_elbo(model, x, y, num_batches):
    log_likelihood = torch.distributions.Normal(model(x), model.log_noise.exp()).log_prob(y).sum()
    return model.divergence() - log_likelihood


@torch.no_grad()
def evaluate(model, x, y, samples=30):
    draws = torch.stack([model(x) for _ in range(samples)])
    return F.mse_loss(draws.mean(0), y).item(), draws.std(0).mean().item()


def main():
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y = load_diabetes(return_X_y=True)
    order = torch.randperm(len(x))
    x, y = torch.tensor(x, dtype=torch.float32)[order] * 21, torch.tensor(y, dtype=torch.float32)[order]
    y = (y - y[:340].mean()) / y[:340].std()
    loader = DataLoader(TensorDataset(x[:340], y[:340]), batch_size=20, shuffle=True)
    model = BayesNet(x.shape[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    step = 0
    while step < args.steps:
        for inputs, targets in loader:
            loss = negative_elbo(model, inputs, targets, len(loader))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 100 == 0:
                error, spread = evaluate(model, x[340:], y[340:])
                print(f"step {step}: loss {loss.item():.3f}, divergence {model.divergence().item():.2f}, error {error:.4f}")
            if step == args.steps:
                break
    error, spread = evaluate(model, x[340:], y[340:])
    print(f"EVIDENCE error {error:.4f}, spread of answers {spread:.4f}, divergence {model.divergence().item():.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
