"""A residual network with dropout whose blocks are computed again in backward."""

import argparse

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class Block(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up, self.down = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)
        self.dropout = nn.Dropout(0.3)

    def forward(self, x):
        return x + self.down(self.dropout(torch.relu(self.up(self.norm(x)))))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(10, 32)
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.head = nn.Linear(32, 1)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return self.head(x)


def agreement(model, x, y):
    """How well the gradient of the first block agrees with that of a step along it: by the loss with the same masks."""
    state = torch.get_rng_state()
    loss = nn.functional.mse_loss(model(x), y)
    gradient, = torch.autograd.grad(loss, model.blocks[0].up.weight)
    weight = model.blocks[0].up.weight
    with torch.no_grad():
        weight -= 0.01 * gradient
        torch.set_rng_state(state)
        after = nn.functional.mse_loss(model(x), y)
        weight += 0.01 * gradient
    return ((loss - after) / (0.01 * gradient.pow(2).sum())).item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = ResNet()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for step in range(args.steps):
    x = torch.randn(32, 10)
    y = (x[:, :1] * x[:, 1:2] + x[:, 2:3]).tanh()
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"EVIDENCE decrease of the loss over its prediction {agreement(model, x, y):.3f}, loss {loss:.3f}")

# SPDX-License-Identifier: Apache-2.0
