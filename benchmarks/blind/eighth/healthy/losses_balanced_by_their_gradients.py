"""Three tasks of unlike scale: weights of the losses learn to make the gradients of the shared layer equally fast."""

import argparse

import torch
from torch import nn


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
        self.heads = nn.ModuleList(nn.Linear(32, 1) for _ in range(3))

    def forward(self, x):
        hidden = self.trunk(x)
        return torch.cat([head(hidden) for head in self.heads], 1)

    @property
    def last_shared(self):
        return self.trunk[2].weight


class Balance:
    """GradNorm: the weights are parameters of an optimizer of their own and always add up to three."""

    def __init__(self, tasks, lr, alpha=1.0):
        self.weights = nn.Parameter(torch.ones(tasks))
        self.optimizer = torch.optim.Adam([self.weights], lr=lr)
        self.alpha, self.first = alpha, None

    def total(self, losses):
        if self.first is None:
            self.first = losses.detach().clone()
        return (self.weights.detach() * losses).sum()

    def update(self, losses, shared):
        norms = torch.stack([
            torch.autograd.grad(w * loss, shared, retain_graph=True, create_graph=True)[0].norm()
            for w, loss in zip(self.weights, losses)])
        with torch.no_grad():
            pace = losses / self.first
            goal = norms.mean() * (pace / pace.mean()) ** self.alpha
        gradient, = torch.autograd.grad((norms - goal).abs().sum(), self.weights)
        self.weights.grad = gradient
        self.optimizer.step()
        with torch.no_grad():
            self.weights.clamp_(min=0.05)
            self.weights *= len(self.weights) / self.weights.sum()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    scale, mixing = torch.tensor([1.0, 10.0, 0.2]), torch.randn(8, 3)
    model, balance = Shared(), Balance(3, args.lr)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    def draw(size):
        x = torch.randn(size, 8)
        return x, scale * (torch.sin(x @ mixing / 3) + 0.05 * torch.randn(size, 3))

    valid = draw(400)
    for step in range(1, args.steps + 1):
        x, y = draw(64)
        losses = (model(x) - y).pow(2).mean(0)
        total = balance.total(losses)
        optimizer.zero_grad()
        total.backward(retain_graph=True)
        if step > 10 and step % 2:
            balance.update(losses, model.last_shared)
        optimizer.step()
        if step % 50 == 0:
            with torch.no_grad():
                errors = ((model(valid[0]) - valid[1]) / scale).pow(2).mean(0).tolist()
            print(f"step {step}: loss {total.item():.4f}, weights {[round(w, 3) for w in balance.weights.tolist()]}, "
                  f"errors {[round(e, 3) for e in errors]}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
