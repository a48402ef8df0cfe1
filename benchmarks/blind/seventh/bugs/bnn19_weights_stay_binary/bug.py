"""Binary weights in forward and backward, full ones for the steps."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=150)
args = parser.parse_args()


class Binarised:
    """Signs stand in for the weights of hidden layers while gradients are computed."""

    def __init__(self, layers):
        self.weights = [layer.weight for layer in layers]
        self.full = [w.detach().clone() for w in self.weights]

    @torch.no_grad()
    def binarise(self):
        for weight, full in zip(self.weights, self.full):
            full.copy_(weight.clamp(-1, 1))
            weight.copy_(full.sign() * full.abs().mean())

    @torch.no_grad()
    def restore(self):
        for weight, full in zip(self.weights, self.full):
            weight.copy_(full)


def evaluate(model, binary, x, y):
    model.eval()
    binary.binarise()
    with torch.no_grad():
        right = (model(x).argmax(1) == y).float().mean().item()
    binary.restore()
    model.train()
    return right


torch.manual_seed(args.seed)
torch.set_num_threads(1)
x = torch.randn(1200, 16)
y = torch.stack([(x[:, :8] * x[:, 8:]).sum(1), x[:, 0] * 2, x[:, 9] * 2], dim=1).argmax(1)
loader = DataLoader(TensorDataset(x[:960], y[:960]), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(16, 64), nn.BatchNorm1d(64), nn.Tanh(), nn.Linear(64, 64), nn.BatchNorm1d(64), nn.Tanh(),
                      nn.Linear(64, 3))
binary = Binarised([model[0], model[3]])
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
step = 0
while step < args.steps:
    for inputs, labels in loader:
        binary.binarise()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    print(f"step {step}: loss {loss.item():.4f}, right {evaluate(model, binary, x[960:], y[960:]):.4f}")
kinds = len(model[3].weight.detach().abs().mul(1e4).round().unique())
print(f"EVIDENCE {kinds} sizes of weights are held, {evaluate(model, binary, x[960:], y[960:]):.4f} right")

# SPDX-License-Identifier: Apache-2.0
