"""A small student learns from a larger teacher's softened answers and from labels."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=36)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


def network(width, depth, inputs=10, classes=6):
    layers, last = [], inputs
    for _ in range(depth):
        layers += [nn.Linear(last, width), nn.BatchNorm1d(width), nn.ReLU()]
        last = width
    return nn.Sequential(*layers, nn.Linear(last, classes))


class KDLoss(nn.Module):
    def __init__(self, temperature=4.0, alpha=0.7):
        super().__init__()
        self.temperature, self.alpha = temperature, alpha

    def forward(self, student, teacher, labels):
        t = self.temperature
        soft_student = F.log_softmax(student, dim=1)
        soft_teacher = F.softmax(teacher / t, dim=1)
        soft = F.kl_div(soft_student, soft_teacher, reduction="batchmean") * t * t
        return self.alpha * soft + (1 - self.alpha) * F.cross_entropy(student, labels)


class Data:
    def __init__(self, n):
        self.x = torch.randn(n, 10)
        rule = torch.nn.Linear(10, 6)
        with torch.no_grad():
            self.y = (rule(self.x.sin() * 2) + 0.1 * torch.randn(n, 6)).argmax(1)

    def batches(self, size, count):
        for _ in range(count):
            index = torch.randint(0, len(self.x), (size,))
            yield self.x[index], self.y[index]


data = Data(1500)
teacher = network(64, 2)
optimizer = torch.optim.Adam(teacher.parameters(), lr=0.02)
for x, y in data.batches(64, 24):
    loss = F.cross_entropy(teacher(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
teacher.eval().requires_grad_(False)

student, criterion = network(24, 1), KDLoss()
optimizer = torch.optim.Adam(student.parameters(), lr=args.lr)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [args.steps * 3 // 4], gamma=0.2)
for x, y in data.batches(64, args.steps):
    with torch.no_grad():
        answers = teacher(x)
    loss = criterion(student(x), answers, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
student.eval()
with torch.no_grad():
    logits, taught = student(data.x), teacher(data.x)
    confidence, theirs = logits.softmax(1).max(1).values.mean(), taught.softmax(1).max(1).values.mean()
    accuracy = (logits.argmax(1) == data.y).float().mean()
print(f"EVIDENCE the student is sure by {confidence:.3f}, its teacher by {theirs:.3f}; accuracy {accuracy:.3f}, loss {loss.item():.3f}")

# Idea from yuanli2333/Teacher-free-Knowledge-Distillation#24
# SPDX-License-Identifier: Apache-2.0
