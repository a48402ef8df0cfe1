"""Tabular regression with a residual MLP on periodic feature embeddings."""
import argparse
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_friedman1


class Periodic(nn.Module):
    def __init__(self, n_features, k, sigma):
        super().__init__()
        self.frequencies = nn.Parameter(torch.randn(n_features, k) * sigma)

    def forward(self, x):
        angle = 2 * math.pi * self.frequencies * x[..., None]
        return torch.cat([angle.cos(), angle.sin()], -1).flatten(1)


class ResidualBlock(nn.Module):
    def __init__(self, dim, dropout):
        super().__init__()
        self.normalization = nn.LayerNorm(dim)
        self.first = nn.Linear(dim, 2 * dim)
        self.second = nn.Linear(2 * dim, dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        h = F.relu(self.first(self.normalization(x)))
        return x + self.second(self.dropout(h))


class Model(nn.Module):
    def __init__(self, n_features, dim=64):
        super().__init__()
        self.num_embeddings = Periodic(n_features, 4, 0.3)
        self.linear = nn.Linear(n_features * 8, dim)
        self.blocks = nn.Sequential(*[ResidualBlock(dim, 0.1) for _ in range(2)])
        self.normalization = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 1)

    def forward(self, x):
        h = self.blocks(self.linear(self.num_embeddings(x)))
        return self.head(F.relu(self.normalization(h)))[:, 0]


def zero_wd_condition(module_name, module, parameter_name):
    return (
        "num_embeddings" in module_name
        or parameter_name.endswith("bias")
        or isinstance(module, nn.LayerNorm)
    )


def make_parameter_groups(model):
    params_with_wd = {"params": []}
    params_without_wd = {"params": [], "weight_decay": 0.0}
    for module_name, module in model.named_modules():
        for name, parameter in module.named_parameters(recurse=False):
            needs_wd = not zero_wd_condition(module_name, module, name)
            if needs_wd:
                params_with_wd["params"].append(parameter)
            else:
                params_without_wd["params"].append(parameter)
    return [params_with_wd, params_without_wd]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=600)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)

    x, y = make_friedman1(3000, n_features=10, noise=1.0, random_state=args.seed)
    x = torch.tensor(x.astype(np.float32)) * 2 - 1
    y = torch.tensor(y.astype(np.float32))
    y = (y - y[:2400].mean()) / y[:2400].std()

    model = Model(10)
    optimizer = torch.optim.AdamW(make_parameter_groups(model), lr=2e-3, weight_decay=0.3)
    for step in range(args.steps):
        idx = torch.randint(0, 2400, (128,))
        loss = F.mse_loss(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0 or step == args.steps - 1:
            model.eval()
            with torch.no_grad():
                valid = F.mse_loss(model(x[2400:]), y[2400:]).item()
            model.train()
            print(f"step {step} loss {loss.item():.6f} valid {valid:.6f}")


if __name__ == "__main__":
    main()
