"""Three tasks on one trunk; their weights are learned from their uncertainty."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=250)
args = parser.parse_args()


class MultiTask(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.price, self.area, self.kind = nn.Linear(width, 1), nn.Linear(width, 1), nn.Linear(width, 4)

    def forward(self, x):
        features = self.trunk(x)
        return self.price(features).squeeze(1), self.area(features).squeeze(1), self.kind(features)


class UncertaintyWeights(nn.Module):
    """Kendall et al.: each loss is divided by a learned variance, whose logarithm is added."""

    def __init__(self, count):
        super().__init__()
        self.log_vars = nn.Parameter(torch.zeros(count))

    def forward(self, losses):
        total = 0.0
        for log_var, loss in zip(self.log_vars, losses):
            total = total + torch.exp(-log_var) * loss + log_var
        return total


def task_losses(model, x, price, area, kind):
    a, b, c = model(x)
    return [nn.functional.mse_loss(a, price), nn.functional.mse_loss(b, area), nn.functional.cross_entropy(c, kind)]


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x = torch.randn(1600, 10)
    price = 3 * torch.sin(x[:, 0]) + x[:, 1] * x[:, 2] + torch.randn(1600)
    area = 0.3 * x[:, 3] + 0.2 * x[:, 4].abs() + 0.05 * torch.randn(1600)
    kind = (x[:, 5:9] + 0.3 * torch.randn(1600, 4)).argmax(1)
    train = DataLoader(TensorDataset(x[:1200], price[:1200], area[:1200], kind[:1200]), batch_size=48, shuffle=True)
    model, weights = MultiTask(), UncertaintyWeights(3)
    optimizer = torch.optim.Adam([*model.parameters(), *weights.parameters()], lr=args.lr)
    step = 0
    while step < args.steps:
        for batch in train:
            total = weights(task_losses(model, *batch))
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
            step += 1
            if step % 50 == 0:
                print(f"step {step}: total {total.item():.4f}, log variances {[round(v, 2) for v in weights.log_vars.tolist()]}")
            if step >= args.steps:
                break
    with torch.no_grad():
        losses = [loss.item() for loss in task_losses(model, x[1200:], price[1200:], area[1200:], kind[1200:])]
        shares = torch.exp(-weights.log_vars).tolist()
    print("EVIDENCE weights " + " ".join(f"{s:.4f}" for s in shares) + ", losses " + " ".join(f"{v:.4f}" for v in losses))


main()

# SPDX-License-Identifier: Apache-2.0
