"""Distil a wide digits MLP into a narrow one."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


def get_data():
    data = load_digits()
    x = torch.tensor(data.data, dtype=torch.float32) / 16.0
    y = torch.tensor(data.target)
    perm = torch.randperm(len(y), generator=torch.Generator().manual_seed(5))
    x, y = x[perm], y[perm]
    return (x[:1300], y[:1300]), (x[1300:], y[1300:])


def mlp(width, depth):
    layers, d = [], 64
    for _ in range(depth):
        layers += [nn.Linear(d, width), nn.GELU()]
        d = width
    layers.append(nn.Linear(d, 10))
    return nn.Sequential(*layers)


def batches(n, size, steps, seed):
    g = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        yield torch.randperm(n, generator=g)[:size]


def train_teacher(x, y, steps, seed):
    net = mlp(128, 2)
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for idx in batches(len(x), 128, steps, seed):
        loss = F.cross_entropy(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net.eval().requires_grad_(False)


def distill_loss(student_logits, teacher_logits, target, alpha):
    probs = teacher_logits.softmax(dim=-1)
    hard = F.cross_entropy(student_logits, target)
    soft = -(probs * student_logits.log_softmax(dim=-1)).sum(dim=-1).mean()
    return alpha * hard + (1.0 - alpha) * soft


def accuracy(net, x, y):
    with torch.no_grad():
        return (net(x).argmax(-1) == y).float().mean().item()


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--steps", type=int, default=60)
    ap.add_argument("--alpha", type=float, default=0.3)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    (xtr, ytr), (xte, yte) = get_data()
    teacher = train_teacher(xtr, ytr, 80, args.seed)
    print(f"teacher acc {accuracy(teacher, xte, yte):.4f}")

    student = mlp(24, 1)
    opt = torch.optim.SGD(student.parameters(), lr=10 * args.lr, momentum=0.9)
    for step, idx in enumerate(batches(len(xtr), 96, args.steps, args.seed + 1)):
        with torch.no_grad():
            t = teacher(xtr[idx])
        loss = distill_loss(student(xtr[idx]), t, ytr[idx], args.alpha)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():.9f}")
    print(f"EVIDENCE student_acc={accuracy(student, xte, yte):.4f}")


if __name__ == "__main__":
    main()
