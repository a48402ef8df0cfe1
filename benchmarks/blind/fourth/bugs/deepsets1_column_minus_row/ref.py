"""A network over sets learns the spread of the numbers in each set."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=64)
args = parser.parse_args()


class DeepSet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(1, width), nn.ELU(), nn.Linear(width, width), nn.ELU())
        self.rho = nn.Sequential(nn.Linear(width, width), nn.ELU(), nn.Linear(width, 1))

    def forward(self, sets):
        return self.rho(self.phi(sets).mean(1))


def populations(n, size=24):
    spread = 0.2 + 2 * torch.rand(n)
    return TensorDataset(spread[:, None, None] * torch.randn(n, size, 1), spread)


def squared_error(prediction, target):
    return ((prediction - target) ** 2).mean()


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    errors = torch.cat([(model(x)[:, 0] - y).abs() for x, y in loader])
    model.train()
    return errors.mean().item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
train = DataLoader(populations(512), batch_size=32, shuffle=True)
held_out = DataLoader(populations(128), batch_size=64)
model = DeepSet()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.5)
for epoch in range(args.steps // len(train)):
    total = 0.0
    for sets, spread in train:
        prediction = model(sets)
        loss = squared_error(prediction, spread.unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()
    print(f"epoch {epoch}: loss {total / len(train):.4f}, error {evaluate(model, held_out):.4f}")
print(f"EVIDENCE mean error on held-out sets {evaluate(model, held_out):.4f}")

# SPDX-License-Identifier: Apache-2.0
