"""Fine-tuning with all norms in evaluation mode, their weights trained."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
body = nn.Sequential(nn.Conv1d(1, 8, 3, padding=1), nn.BatchNorm1d(8), nn.ReLU(),
                     nn.Conv1d(8, 8, 3, padding=1), nn.BatchNorm1d(8), nn.ReLU())
head = nn.Linear(8, 2)


def run(steps, rate, tune):
    optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=rate)
    for _ in range(steps):
        body.train()
        if tune:
            for module in body.modules():
                if isinstance(module, nn.BatchNorm1d):
                    module.eval()
        x = torch.randn(16, 1, 20).cumsum(2) + tune
        loss = nn.functional.cross_entropy(head(body(x).mean(2)), (x[:, 0, -1] > x[:, 0, 0]).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss


run(args.steps, args.lr, 0)
print(f"loss {run(args.steps, args.lr / 3, 1):.4f}")

# SPDX-License-Identifier: Apache-2.0
