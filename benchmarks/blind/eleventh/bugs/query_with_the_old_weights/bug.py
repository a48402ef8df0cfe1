"""Model-agnostic meta-learning on sine waves: inner steps on the support set, the outer loss on the query set."""
import argparse
import math

import torch
from torch import nn
from torch.func import functional_call


def sample_task(shots=10):
    amplitude = 0.5 + 2.5 * torch.rand(1)
    phase = math.pi * torch.rand(1)

    def draw(n):
        x = 10 * torch.rand(n, 1) - 5
        return x, amplitude * torch.sin(x + phase)

    return draw(shots), draw(shots)


class Regressor(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x)


class MetaLearner:
    def __init__(self, model, inner_lr=0.02, inner_steps=2):
        self.model = model
        self.inner_lr = inner_lr
        self.inner_steps = inner_steps

    def loss(self, params, data):
        x, y = data
        return nn.functional.mse_loss(functional_call(self.model, params, (x,)), y)

    def adapt(self, support, create_graph):
        params = dict(self.model.named_parameters())
        fast = params
        for _ in range(self.inner_steps):
            grads = torch.autograd.grad(self.loss(fast, support), list(fast.values()), create_graph=create_graph)
            fast = {name: p - self.inner_lr * g for (name, p), g in zip(fast.items(), grads)}
        return params, fast

    def outer_loss(self, support, query, create_graph=True):
        params, fast = self.adapt(support, create_graph)
        return self.loss(params, query)


def evaluate(learner, tasks):
    before, after = [], []
    for support, query in tasks:
        params, fast = learner.adapt(support, create_graph=False)
        with torch.no_grad():
            before.append(learner.loss(params, query).item())
            after.append(learner.loss(fast, query).item())
    return sum(before) / len(before), sum(after) / len(after)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--tasks", type=int, default=6)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    model = Regressor()
    learner = MetaLearner(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    held_out = [sample_task() for _ in range(60)]
    for step in range(1, args.steps + 1):
        optimizer.zero_grad()
        total = 0.0
        for _ in range(args.tasks):
            support, query = sample_task()
            loss = learner.outer_loss(support, query) / args.tasks
            loss.backward()
            total += loss.item()
        optimizer.step()
        if step % 40 == 0:
            before, after = evaluate(learner, held_out)
            print(f"step {step}: outer loss {total:.4f}, held out before {before:.4f}, after {after:.4f}")
    print(f"EVIDENCE error of new tasks before adaptation {before:.4f}, after it {after:.4f}, ratio {after / before:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
