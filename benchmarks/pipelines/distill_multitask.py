"""A teacher, trained first and then in evaluation mode, for a student with two heads and weighted losses."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

from options import options


class Student(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Dropout(0.1))
        self.heads = nn.ModuleDict({"digit": nn.Linear(width, 10), "ink": nn.Linear(width, 1)})
        self.log_var = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        h = self.trunk(x)
        return self.heads["digit"](h), self.heads["ink"](h).squeeze(-1)


def distillation(student_logits, teacher_logits, temperature=2.0):
    soft = F.softmax(teacher_logits / temperature, dim=1)
    return F.kl_div(F.log_softmax(student_logits / temperature, dim=1), soft, reduction="batchmean") * temperature**2


def main():
    args = options(lr=3e-3, width=32, steps=48)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    x, y = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
    ink = x.mean(1) * 4 - 1
    loader = DataLoader(TensorDataset(x[:1440], y[:1440], ink[:1440]), batch_size=120, shuffle=True)
    epochs = max(2, args.steps // len(loader) // 2)

    teacher = nn.Sequential(nn.Linear(64, 4 * args.width), nn.ReLU(), nn.Linear(4 * args.width, 10))
    optimizer = torch.optim.Adam(teacher.parameters(), lr=args.lr)
    teacher.train()
    for _ in range(epochs):
        for xb, yb, _ in loader:
            optimizer.zero_grad()
            F.cross_entropy(teacher(xb), yb).backward()
            optimizer.step()
    teacher.eval()

    student = Student(args.width)
    optimizer = torch.optim.Adam(student.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    for epoch in range(epochs):
        student.train()
        for xb, yb, ib in loader:
            with torch.no_grad():
                soft = teacher(xb)
            logits, predicted = student(xb)
            losses = [F.cross_entropy(logits, yb) + distillation(logits, soft), F.mse_loss(predicted, ib)]
            loss = sum(torch.exp(-v) * l + v for v, l in zip(student.log_var, losses))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        student.eval()
        with torch.no_grad():
            accuracy = (student(x[1440:])[0].argmax(1) == y[1440:]).float().mean().item()
        print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
