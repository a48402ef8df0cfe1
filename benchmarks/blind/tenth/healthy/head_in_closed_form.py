"""The head is solved in closed form on features of one half of a batch, the trunk learns from errors on the other half."""
import argparse

import torch
from sklearn.datasets import make_friedman3
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=200)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
x, y = make_friedman3(1600, noise=0.1, random_state=args.seed)
x, y = torch.tensor(x), torch.tensor(y, dtype=torch.float32)
x = ((x - x[:1200].mean(0)) / x[:1200].std(0)).float()
trunk = nn.Sequential(nn.Linear(4, 48), nn.SiLU(), nn.LayerNorm(48), nn.Linear(48, 24), nn.Tanh())
log_ridge = nn.Parameter(torch.tensor(0.0))
optimizer = torch.optim.RMSprop([{"params": trunk.parameters()}, {"params": [log_ridge], "lr": 5 * args.lr}], lr=args.lr)
head = nn.Linear(24, 1).requires_grad_(False)


def solve(features, targets):
    """Ridge regression with a column for the bias; gradients pass through the solution."""
    ones = torch.cat([features, torch.ones(len(features), 1)], 1)
    gram = ones.T @ ones + log_ridge.exp() * torch.eye(ones.shape[1])
    return torch.linalg.solve(gram, ones.T @ targets)


@torch.no_grad()
def refresh_head():
    solution = solve(trunk(x[:1200]), y[:1200])
    head.weight.copy_(solution[None, :-1])
    head.bias.copy_(solution[-1:])


for step in range(1, args.steps + 1):
    rows = torch.randperm(1200)[:128]
    cut = int(torch.randint(48, 96, ()))
    support, query = rows[:cut], rows[cut:]
    solution = solve(trunk(x[support]), y[support])
    answer = trunk(x[query]) @ solution[:-1] + solution[-1]
    loss = nn.functional.huber_loss(answer, y[query])
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        log_ridge.clamp_(-6, 3)
    if step % 50 == 0:
        refresh_head()
        with torch.no_grad():
            error = nn.functional.mse_loss(head(trunk(x[1200:])).squeeze(1), y[1200:]).item()
        print(f"step {step}: loss {loss.item():.4f}, ridge {log_ridge.exp().item():.4f}, error of the whole {error:.4f}")

# SPDX-License-Identifier: Apache-2.0
