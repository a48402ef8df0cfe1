"""A narrow student learns from labels and from the softened answers of a wide teacher."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


def mlp(width):
    return nn.Sequential(nn.Linear(12, width), nn.ReLU(), nn.Linear(width, 6))


def distillation_loss(student_logits, teacher_logits, labels, temperature=4.0, alpha=0.7):
    soft = F.kl_div(F.log_softmax(student_logits / temperature, 1), F.softmax(teacher_logits / temperature, 1),
                    reduction="batchmean")
    soft = soft * temperature ** 2
    hard = F.cross_entropy(student_logits, labels)
    return alpha * soft + (1 - alpha) * hard, soft


torch.manual_seed(args.seed)
torch.set_num_threads(1)
teacher, student = mlp(128), mlp(8)
rule = torch.randn(12, 6)


def batch(n=48):
    x = torch.randn(n, 12)
    return x, (x @ rule).argmax(1)


warm = torch.optim.Adam(teacher.parameters(), lr=0.01)
for _ in range(30):
    x, y = batch()
    warm.zero_grad()
    F.cross_entropy(teacher(x), y).backward()
    warm.step()
teacher.eval().requires_grad_(False)

optimizer = torch.optim.Adam(student.parameters(), lr=args.lr)
for step in range(args.steps):
    x, y = batch()
    with torch.no_grad():
        answers = teacher(x)
    loss, soft = distillation_loss(student(x), answers, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
agree = (student(x).argmax(1) == answers.argmax(1)).float().mean()
print(f"EVIDENCE soft part of the loss {soft:.4f}, agreement with the teacher {agree:.2f}")

# Idea from IntelLabs/distiller#122
# SPDX-License-Identifier: Apache-2.0
