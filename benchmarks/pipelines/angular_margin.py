"""Cosines between features and class centres, a margin on the right one."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

from options import options


class Margin(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(classes, width))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, target):
        cosine = F.linear(F.normalize(x, dim=1), F.normalize(self.weight, dim=1))
        return 12 * (cosine - 0.2 * F.one_hot(target, cosine.shape[1]))


def main():
    args = options(lr=5e-2, width=32, steps=60)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    x, y = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
    body = nn.Sequential(nn.Linear(64, 64), nn.PReLU(), nn.Dropout(0.1), nn.Linear(64, args.width))
    head = Margin(args.width, 10)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=args.lr, momentum=0.9, nesterov=True)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 25, 0.3)
    for step in range(args.steps):
        body.train()
        rows = torch.randint(0, 1400, (64,))
        loss = F.cross_entropy(head(body(x[rows]), y[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 20 == 19:
            body.eval()
            with torch.no_grad():
                near = F.normalize(body(x[1400:]), dim=1) @ F.normalize(head.weight, dim=1).T
            print(f"step {step + 1}: accuracy {(near.argmax(1) == y[1400:]).float().mean():.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
