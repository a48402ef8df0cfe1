"""Meta-learning of sine curves with torch.func: three steps on a curve's few points, then the loss on others."""

import argparse

import torch
from torch import nn
from torch.func import functional_call, grad, vmap

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=250)
args = parser.parse_args()
INNER_STEPS, INNER_RATE = 3, 0.05


def make_model(width=40):
    return nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))


def make_tasks(count, points=10):
    amplitude = 0.5 + 2 * torch.rand(count, 1, 1)
    phase = 3.14 * torch.rand(count, 1, 1)
    x = 8 * torch.rand(count, 2 * points, 1) - 4
    y = amplitude * torch.sin(x + phase)
    return x[:, :points], y[:, :points], x[:, points:], y[:, points:]


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    model = make_model()
    slow = {name: p for name, p in model.named_parameters()}

    def loss_of(weights, x, y):
        return nn.functional.mse_loss(functional_call(model, weights, (x,)), y)

    def adapt(weights, x, y, steps):
        fast = weights
        for _ in range(steps):
            gradients = grad(loss_of)(fast, x, y)
            fast = {name: weights[name] - INNER_RATE * gradients[name] for name in fast}
        return fast

    def loss_after(weights, x, y, x_query, y_query, steps):
        return loss_of(adapt(weights, x, y, steps), x_query, y_query)

    def meta_loss(tasks, steps=INNER_STEPS):
        one = lambda *task: loss_after(slow, *task, steps)
        return vmap(one)(*tasks).mean()

    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        loss = meta_loss(make_tasks(16))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    test = make_tasks(200)
    with torch.no_grad():
        losses = [meta_loss(test, steps).item() for steps in (0, 1, 3)]
    print("EVIDENCE loss after none, one and three steps " + " ".join(f"{loss:.4f}" for loss in losses))


main()

# SPDX-License-Identifier: Apache-2.0
