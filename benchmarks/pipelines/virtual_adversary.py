"""Virtual adversarial training: the direction in which the answer changes most, by a gradient of the input."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_wine
from torch import nn

from options import options


def adversary(model, x, answer):
    d = F.normalize(torch.randn_like(x), dim=1).mul(1e-2).requires_grad_()
    apart = F.kl_div(F.log_softmax(model(x + d), dim=1), answer, reduction="batchmean")
    (gradient,) = torch.autograd.grad(apart, d)
    return 0.5 * F.normalize(gradient, dim=1)


def main():
    args = options(lr=3e-3, width=48, steps=60)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    wine = load_wine()
    x, y = torch.tensor(wine.data, dtype=torch.float32), torch.tensor(wine.target)
    x = (x - x.mean(0)) / x.std(0)
    labelled = torch.randperm(len(x))[:30]
    model = nn.Sequential(nn.Linear(13, args.width), nn.ReLU(), nn.Linear(args.width, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        rows = torch.randint(0, len(x), (64,))
        with torch.no_grad():
            answer = F.softmax(model(x[rows]), dim=1)
        moved = x[rows] + adversary(model, x[rows], answer)
        loss = F.cross_entropy(model(x[labelled]), y[labelled])
        loss = loss + F.kl_div(F.log_softmax(model(moved), dim=1), answer, reduction="batchmean")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 19:
            print(f"step {step + 1}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
