"""Distillation in the manner of a tutorial: a wide teacher is trained first, a narrow student learns from it."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Distiller(nn.Module):
    def __init__(self, student, teacher, alpha=0.2, temperature=4.0):
        super().__init__()
        self.teacher = teacher
        self.student = student
        self.alpha, self.temperature = alpha, temperature

    def compile(self, lr):
        self.teacher.requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.student.parameters(), lr=lr)

    def train_step(self, x, y):
        with torch.no_grad():
            teacher_predictions = self.teacher(x)
        student_predictions = self.student(x)
        student_loss = F.cross_entropy(student_predictions, y)
        distillation_loss = F.kl_div(
            F.log_softmax(student_predictions / self.temperature, dim=1),
            F.softmax(teacher_predictions / self.temperature, dim=1),
            reduction="batchmean",
        ) * self.temperature ** 2
        loss = self.alpha * student_loss + (1 - self.alpha) * distillation_loss
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return student_loss.item(), distillation_loss.item()


def mlp(*widths):
    layers = []
    for a, b in zip(widths, widths[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


# Arguments and data
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=300)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
digits = load_digits()
x, y = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
order = torch.randperm(len(x))
x, y = x[order], y[order]
x_train, y_train, x_test, y_test = x[:1300], y[:1300], x[1300:], y[1300:]

# Train the teacher as usual
teacher, student = mlp(64, 128, 128, 10), mlp(64, 12, 10)
optimizer = torch.optim.Adam(teacher.parameters(), lr=args.lr)
for step in range(args.steps):
    rows = torch.randint(len(x_train), (64,))
    loss = F.cross_entropy(teacher(x_train[rows]), y_train[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"teacher: loss {loss.item():.4f}, accuracy {accuracy(teacher, x_test, y_test):.4f}")

# Distill it into the student
distiller = Distiller(student=student, teacher=teacher)
distiller.compile(lr=args.lr)
for step in range(args.steps):
    rows = torch.randint(len(x_train), (64,))
    student_loss, distillation_loss = distiller.train_step(x_train[rows], y_train[rows])
    if step % 100 == 99:
        print(f"step {step + 1}: student {student_loss:.4f}, distillation {distillation_loss:.4f}")
print(f"EVIDENCE accuracy of the narrow network {accuracy(student, x_test, y_test):.4f}, "
      f"of the wide one {accuracy(teacher, x_test, y_test):.4f}; last distillation loss {distillation_loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
