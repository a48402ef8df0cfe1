"""Reptile: the weights run off on one task, then go a part of the way back; the inner optimizer starts from nothing each time."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


def task(gen):
    height = 0.5 + 2 * torch.rand((), generator=gen)
    phase = 2.0 * torch.rand((), generator=gen)
    return lambda n: (lambda x: (x, height * torch.sin(x + phase)))(6 * torch.rand(n, 1, generator=gen) - 3)


def adapt(model, draw, lr, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(steps):
        x, y = draw(40)
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--steps", type=int, default=300)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = nn.Sequential(nn.Linear(1, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))
    for step in range(args.steps):
        start = copy.deepcopy(model.state_dict())
        loss = adapt(model, task(gen), args.lr, 5)
        pace = 0.5 * (1 - step / args.steps)
        with torch.no_grad():
            for name, p in model.named_parameters():
                p.copy_(start[name] + pace * (p - start[name]))
        if step % 40 == 39:
            print(f"task {step + 1} loss {loss:.4f}")
    test, scores = torch.Generator().manual_seed(50), []
    for _ in range(10):
        learner, draw = copy.deepcopy(model), task(test)
        adapt(learner, draw, args.lr, 10)
        x, y = draw(100)
        scores.append(F.mse_loss(learner(x), y).item())
    print(f"RESULT after_ten_steps={sum(scores) / len(scores):.4f}")


if __name__ == "__main__":
    main()
