"""Each layer has a loss and an optimizer of its own and passes its output on without a gradient."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()
CLASSES, WIDTH, LIMIT = 4, 48, 2.0


class Layer(nn.Module):
    """Its activity is to be great for a sample with the right label and small with a wrong one."""

    def __init__(self, inputs):
        super().__init__()
        self.linear = nn.Linear(inputs, WIDTH)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=args.lr)

    def forward(self, x):
        x = x / (x.norm(dim=1, keepdim=True) + 1e-4)
        return torch.relu(self.linear(x))

    def learn(self, good, bad):
        up, down = self(good).square().mean(1), self(bad).square().mean(1)
        loss = nn.functional.softplus(torch.cat([LIMIT - up, down - LIMIT])).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            return self(good), self(bad), loss.item()


def with_label(x, label):
    return torch.cat([3 * nn.functional.one_hot(label, CLASSES).float(), x], 1)


@torch.no_grad()
def classify(layers, x):
    activity = []
    for label in range(CLASSES):
        hidden, total = with_label(x, torch.full((len(x),), label)), 0.0
        for layer in layers:
            hidden = layer(hidden)
            total = total + hidden.square().mean(1)
        activity.append(total)
    return torch.stack(activity, 1).argmax(1)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
centres = torch.randn(CLASSES, 10)
y = torch.randint(CLASSES, (800,))
x = centres[y] + 0.5 * torch.randn(800, 10)
loader = DataLoader(TensorDataset(x[:600], y[:600]), batch_size=50, shuffle=True)
layers = nn.ModuleList([Layer(10 + CLASSES), Layer(WIDTH), Layer(WIDTH)])
step = 0
while step < args.steps:
    for inputs, label in loader:
        wrong = (label + torch.randint(1, CLASSES, label.shape)) % CLASSES
        good, bad = with_label(inputs, label), with_label(inputs, wrong)
        losses = []
        for layer in layers:
            good, bad, loss = layer.learn(good, bad)
            losses.append(round(loss, 3))
        step += 1
        if step % 25 == 0:
            right = (classify(layers, x[600:]) == y[600:]).float().mean().item()
            print(f"step {step}: losses {losses}, right {right:.3f}")
        if step == args.steps:
            break

# SPDX-License-Identifier: Apache-2.0
