"""Continual learning on digits with elastic weight consolidation: plain digits first, then permuted pixels."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


def load_tasks(seed):
    """Task A: the digits as they are. Task B: the digits with permuted pixels."""
    x, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(x))
    x = torch.tensor(x[order] / 16.0, dtype=torch.float32)
    y = torch.tensor(y[order])
    perm = torch.from_numpy(rng.permutation(64))
    n = 1300
    plain = (x[:n], y[:n], x[n:], y[n:])
    permuted = (x[:n, perm], y[:n], x[n:, perm], y[n:])
    return plain, permuted


class Net(nn.Module):
    def __init__(self, hidden=128):
        super().__init__()
        self.fc1, self.fc2, self.out = nn.Linear(64, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 10)

    def forward(self, x):
        return self.out(F.relu(self.fc2(F.relu(self.fc1(x)))))


class EWC:
    """Quadratic penalty around the weights of the old task, weighted with the Fisher diagonal."""

    def __init__(self, model, x, y, samples=600, batch_size=50):
        self.anchor = {n: p.detach().clone() for n, p in model.named_parameters()}
        self.fisher = self.diagonal(model, x[:samples], y[:samples], batch_size)

    def diagonal(self, model, x, y, batch_size):
        fisher = {n: torch.zeros_like(p) for n, p in model.named_parameters()}
        for xb, yb in zip(x.split(batch_size), y.split(batch_size)):
            for xi, yi in zip(xb.split(1), yb.split(1)):
                model.zero_grad()
                F.cross_entropy(model(xi), yi).backward()
                for n, p in model.named_parameters():
                    fisher[n] += p.grad.pow(2) / len(x)
        model.zero_grad()
        return fisher

    def penalty(self, model):
        return sum((self.fisher[n] * (p - self.anchor[n]).pow(2)).sum() for n, p in model.named_parameters())


@torch.no_grad()
def accuracy(model, x, y):
    return (model(x).argmax(1) == y).float().mean().item()


def train(model, x, y, steps, lr, ewc=None, strength=0.0, tag=""):
    opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    per_step = 8
    for step in range(1, steps + 1):
        for _ in range(per_step):
            idx = torch.randint(len(x), (64,))
            loss = F.cross_entropy(model(x[idx]), y[idx])
            if ewc is not None:
                loss = loss + 0.5 * strength * ewc.penalty(model)
            opt.zero_grad()
            loss.backward()
            opt.step()
        if step % 20 == 0:
            print(f"{tag} step {step:4d} loss {loss.item():.4f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.02)
    ap.add_argument("--steps", type=int, default=120)
    ap.add_argument("--strength", type=float, default=150.0)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    (xa, ya, xa_test, ya_test), (xb, yb, xb_test, yb_test) = load_tasks(args.seed)
    model = Net()
    train(model, xa, ya, args.steps // 3, args.lr, tag="A")
    first = accuracy(model, xa_test, ya_test)
    ewc = EWC(model, xa, ya)
    print(f"fisher mean {torch.cat([f.flatten() for f in ewc.fisher.values()]).mean():.3e}")
    train(model, xb, yb, args.steps - args.steps // 3, args.lr, ewc, args.strength, tag="B")
    a, b = accuracy(model, xa_test, ya_test), accuracy(model, xb_test, yb_test)
    print(f"EVIDENCE task_a_before={first:.3f} task_a_after={a:.3f} task_b={b:.3f} average={(a + b) / 2:.3f}")


if __name__ == "__main__":
    main()
