"""No optimizer at first: momentum and weights updated by hand; then an optimizer whose gradients are put in by hand."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_diabetes
from torch import nn

from options import options


def step_by_hand(params, grads, velocity, lr, momentum=0.9):
    with torch.no_grad():
        for p, g, v in zip(params, grads, velocity):
            v.mul_(momentum).add_(g)
            p -= lr * v


def noisy_gradients(model, x, y, params, noise=0.01):
    """The loss, and the gradient of the mean loss with each row's share of it limited to 1, as in private training."""
    total = [torch.zeros_like(p) for p in params]
    loss = F.smooth_l1_loss(model(x), y, reduction="none")
    for row in loss:
        grads = torch.autograd.grad(row, params, retain_graph=True)
        norm = torch.sqrt(sum((g * g).sum() for g in grads))
        for t, g in zip(total, grads):
            t += g * min(1.0, 1.0 / (norm.item() + 1e-6))
    return loss.mean().item(), [t / len(x) + noise * torch.randn_like(t) / len(x) for t in total]


def score(model, x, y):
    """The share of the variance that the model explains."""
    with torch.no_grad():
        return 1 - (F.mse_loss(model(x), y) / y.var()).item()


def main():
    args = options(lr=0.02, width=24, steps=90)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y = (torch.tensor(a, dtype=torch.float32) for a in load_diabetes(return_X_y=True))
    x, y = x / x.std(0), (y - y.mean()) / y.std()
    train, test = torch.randperm(len(x), generator=torch.Generator().manual_seed(args.seed)).split(352)
    model = nn.Sequential(nn.Linear(10, args.width), nn.Tanh(), nn.Linear(args.width, 1), nn.Flatten(0))

    params = list(model.parameters())
    velocity = [torch.zeros_like(p) for p in params]
    by_hand = max(4, 2 * args.steps // 3)
    for i in range(by_hand):
        rows = train[torch.randint(len(train), (64,))]
        loss = F.smooth_l1_loss(model(x[rows]), y[rows])
        step_by_hand(params, torch.autograd.grad(loss, params), velocity, args.lr)
        if (i + 1) % 20 == 0:
            print(f"step {i + 1}: loss {loss.item():.3f}, test {score(model, x[test], y[test]):.3f}")

    optimizer = torch.optim.Adam(params, lr=args.lr / 10)
    for i in range(max(2, args.steps - by_hand)):
        rows = train[torch.randint(len(train), (32,))]
        loss, grads = noisy_gradients(model, x[rows], y[rows], params)
        for p, g in zip(params, grads):
            p.grad = g
        optimizer.step()
        if (i + 1) % 10 == 0:
            print(f"private step {i + 1}: loss {loss:.3f}, test {score(model, x[test], y[test]):.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
