"""Mean teacher with noise on both sides: the averaged teacher keeps dropout on when it makes targets, by design; it has no batch norm."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_moons


def moons(n, seed, noise=0.15):
    x, y = make_moons(n, noise=noise, random_state=seed)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


def net():
    return nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 2))


@torch.no_grad()
def follow(teacher, student, decay):
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.lerp_(s, 1 - decay)


@torch.no_grad()
def accuracy(model, x, y):
    was = model.training
    model.eval()
    acc = (model(x).argmax(1) == y).float().mean().item()
    model.train(was)
    return acc


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=250)
    ap.add_argument("--labels", type=int, default=12)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y = moons(800, args.seed)
    x_test, y_test = moons(500, 1234)
    labelled = torch.cat([(y == c).nonzero().squeeze(1)[:args.labels // 2] for c in (0, 1)])
    student = net()
    teacher = copy.deepcopy(student).requires_grad_(False)
    teacher.train()
    optimizer = torch.optim.Adam(student.parameters(), lr=args.lr)
    gen = torch.Generator().manual_seed(args.seed)
    for step in range(1, args.steps + 1):
        xu = x[torch.randint(0, len(x), (64,), generator=gen)]
        supervised = F.cross_entropy(student(x[labelled]), y[labelled])
        with torch.no_grad():
            target = teacher(xu + 0.05 * torch.randn(xu.shape, generator=gen)).softmax(1)
        guess = student(xu + 0.05 * torch.randn(xu.shape, generator=gen)).softmax(1)
        weight = 4.0 * min(1.0, step / 80) ** 2
        loss = supervised + weight * F.mse_loss(guess, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        follow(teacher, student, min(0.99, 1 - 1 / (step + 1)))
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.4f} teacher {accuracy(teacher, x_test, y_test):.3f}")
    print(f"RESULT student={accuracy(student, x_test, y_test):.3f} teacher={accuracy(teacher, x_test, y_test):.3f}")


if __name__ == "__main__":
    main()
