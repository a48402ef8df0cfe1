"""A frozen teacher and evaluations that run without no_grad, and the student in half precision at the end."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from options import options


def mlp(width):
    return nn.Sequential(nn.Linear(64, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.2), nn.Linear(width, 10))


def accuracy(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


def main():
    args = options(lr=4e-3, width=32, steps=72)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    x, y = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
    loader = DataLoader(TensorDataset(x[:1440], y[:1440]), batch_size=120, shuffle=True)
    epochs = max(2, args.steps // len(loader) // 2)

    teacher = mlp(4 * args.width)
    optimizer = torch.optim.Adam(teacher.parameters(), lr=args.lr)
    for epoch in range(epochs):
        teacher.train()
        for xb, yb in loader:
            optimizer.zero_grad()
            F.cross_entropy(teacher(xb), yb).backward()
            optimizer.step()
        print(f"teacher {epoch}: accuracy {accuracy(teacher, x[1440:], y[1440:]):.3f}")
    teacher.eval().requires_grad_(False)

    student = mlp(args.width)
    optimizer = torch.optim.Adam(student.parameters(), lr=args.lr)
    for epoch in range(epochs):
        student.train()
        for xb, yb in loader:
            optimizer.zero_grad()
            soft, logits = F.softmax(teacher(xb) / 2, dim=-1), student(xb)
            distilled = F.kl_div(F.log_softmax(logits / 2, dim=-1), soft, reduction="batchmean")
            loss = F.cross_entropy(logits, yb) + 4 * distilled
            loss.backward()
            optimizer.step()
        print(f"student {epoch}: loss {loss.item():.3f}, accuracy {accuracy(student, x[1440:], y[1440:]):.3f}")

    single = student.eval()(x[1440:]).argmax(1)
    student.half()
    changed = (student(x[1440:].half()).argmax(1) != single).sum().item()
    print(f"half precision changes {changed} of {len(single)} predictions")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
