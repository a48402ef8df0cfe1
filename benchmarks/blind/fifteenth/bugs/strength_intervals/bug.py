"""Strength of concrete with error bars: a Bayesian network with Gaussian weights (Bayes by backprop)."""

import argparse
import math

import torch
import torch.distributions as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=4e-3)
parser.add_argument("--steps", type=int, default=1500)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class BayesLinear(nn.Module):
    def __init__(self, n_in, n_out, prior_std=1.0):
        super().__init__()
        self.prior_std = prior_std
        self.w_mean = nn.Parameter(torch.randn(n_out, n_in) / math.sqrt(n_in))
        self.w_rho = nn.Parameter(torch.full((n_out, n_in), -4.0))
        self.b_mean = nn.Parameter(torch.zeros(n_out))
        self.b_rho = nn.Parameter(torch.full((n_out,), -4.0))

    def posteriors(self):
        yield dist.Normal(self.w_mean, F.softplus(self.w_rho))
        yield dist.Normal(self.b_mean, F.softplus(self.b_rho))

    def forward(self, x):
        weight, bias = (q.rsample() for q in self.posteriors())
        return F.linear(x, weight, bias)

    def kl_loss(self):
        total = 0.0
        for q in self.posteriors():
            p = dist.Normal(torch.zeros_like(q.loc), self.prior_std)
            total = total + dist.kl_divergence(p, q).sum()
        return total


class StrengthNet(nn.Module):
    def __init__(self, n_in=6, width=24):
        super().__init__()
        self.l1 = BayesLinear(n_in, width)
        self.l2 = BayesLinear(width, width)
        self.l3 = BayesLinear(width, 1)
        self.log_noise = nn.Parameter(torch.tensor(-1.0))

    def forward(self, x):
        x = torch.tanh(self.l1(x))
        x = torch.tanh(self.l2(x))
        return self.l3(x).squeeze(-1)

    def kl(self):
        return sum(m.kl_loss() for m in self.modules() if isinstance(m, BayesLinear))


def mix_of(n):
    x = torch.rand(n, 6) * 2 - 1
    y = 1.2 * torch.tanh(2 * x[:, 0]) - x[:, 1] * x[:, 2] + 0.6 * torch.sin(3 * x[:, 3]) + 0.3 * x[:, 4]
    return x, y + 0.15 * torch.randn(n)


x_train, y_train = mix_of(1200)
x_test, y_test = mix_of(400)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=100, shuffle=True)
model = StrengthNet()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

step = 0
while step < args.steps:
    for x, y in loader:
        warm = min(1.0, (step + 1) / (0.3 * args.steps))
        nll = -dist.Normal(model(x), model.log_noise.exp()).log_prob(y).mean()
        loss = nll + warm * model.kl() / len(x_train)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 400 == 0:
            print(f"{step:5d} nll {nll.item():.3f} kl/n {model.kl().item() / len(x_train):.3f}")
        if step >= args.steps:
            break

model.eval()
with torch.no_grad():
    draws = torch.stack([model(x_test) for _ in range(100)])
    mean, model_std = draws.mean(0), draws.std(0)
    total_std = (model_std.square() + (2 * model.log_noise).exp()).sqrt()
    rmse = (mean - y_test).square().mean().sqrt().item()
    inside = ((mean - y_test).abs() < 1.645 * total_std).float().mean().item()
print(
    f"EVIDENCE rmse {rmse:.3f}, width of 90% intervals {2 * 1.645 * total_std.mean().item():.3f} with {inside:.3f} inside, "
    f"deviation of the model {model_std.mean().item():.3f}"
)
