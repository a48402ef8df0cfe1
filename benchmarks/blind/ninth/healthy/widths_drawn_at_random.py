"""One network for many widths: in each step the widest learns from labels and teaches the narrowest and two that are drawn."""
import argparse
import random

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

WIDTHS = (12, 24, 36, 48, 64)


class SlimLinear(nn.Linear):
    """Only the first rows and columns are used."""

    def forward(self, x, outputs):
        return F.linear(x, self.weight[:outputs, :x.size(1)], self.bias[:outputs])


class SlimNet(nn.Module):
    def __init__(self):
        super().__init__()
        widest = WIDTHS[-1]
        self.fc1, self.fc2, self.out = SlimLinear(64, widest), SlimLinear(widest, widest), SlimLinear(widest, 10)
        self.norms = nn.ModuleDict({str(width): nn.BatchNorm1d(width) for width in WIDTHS})  # statistics of each width's own

    def forward(self, x, width):
        x = F.relu(self.norms[str(width)](self.fc1(x, width)))
        return self.out(F.relu(self.fc2(x, width)), 10)


class Trainer:
    def __init__(self, args):
        self.args, self.random = args, random.Random(args.seed)
        x, y = load_digits(return_X_y=True)
        order = torch.randperm(len(x))
        self.x, self.y = torch.tensor(x / 8 - 1, dtype=torch.float32)[order], torch.tensor(y)[order]
        self.model = SlimNet()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, 2 * args.lr, total_steps=args.steps)

    def step(self):
        rows = torch.randint(1300, (48,))
        x, y = self.x[rows], self.y[rows]
        self.optimizer.zero_grad()
        logits = self.model(x, WIDTHS[-1])
        loss = F.cross_entropy(logits, y)
        loss.backward()
        soft = logits.detach().softmax(1)
        for width in [WIDTHS[0]] + self.random.sample(WIDTHS[1:-1], 2):
            F.cross_entropy(self.model(x, width), soft).backward()
        self.optimizer.step()
        self.schedule.step()
        return loss.item()

    @torch.no_grad()
    def evaluate(self, width):
        self.model.eval()
        right = (self.model(self.x[1300:], width).argmax(1) == self.y[1300:]).float().mean().item()
        self.model.train()
        return right

    def fit(self):
        for step in range(1, self.args.steps + 1):
            loss = self.step()
            if step % 50 == 0:
                width = self.random.choice(WIDTHS)  # one of them is looked at
                print(f"step {step}: loss {loss:.3f}, width {width} has {self.evaluate(width):.3f} right")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--steps", type=int, default=250)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)
    Trainer(arguments).fit()

# SPDX-License-Identifier: Apache-2.0
