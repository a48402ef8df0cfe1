"""Reptile: a copy learns a task with a new optimizer each time, then the weights move a little towards the copy."""
import argparse
import copy

import torch
import torch.nn as nn


def task(gen):
    a, shift = 0.5 + 2 * torch.rand(1, generator=gen), 3 * torch.rand(1, generator=gen)
    def draw(n):
        x = 4 * torch.rand(n, 1, generator=gen) - 2
        return x, a * torch.sin(x + shift)
    return draw


def adapt(net, draw, steps, lr):
    worker = copy.deepcopy(net)
    optimizer = torch.optim.SGD(worker.parameters(), lr=lr)
    for _ in range(steps):
        x, y = draw(16)
        loss = (worker(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return worker, loss.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.03)
    ap.add_argument("--steps", type=int, default=150)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    net = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
    for step in range(args.steps):
        worker, loss = adapt(net, task(gen), 5, args.lr)
        rate = 0.5 * (1 - step / args.steps)
        with torch.no_grad():
            for p, w in zip(net.parameters(), worker.parameters()):
                p.add_(w - p, alpha=rate)
        if step % 30 == 0:
            print(f"step {step} loss after adapting {loss:.4f}")
    _, loss = adapt(net, task(gen), 20, args.lr)
    print(f"RESULT loss={loss:.4f}")


if __name__ == "__main__":
    main()
