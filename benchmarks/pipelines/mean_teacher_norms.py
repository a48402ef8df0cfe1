"""A teacher that is the average of its student, statistics of the norms included, gives soft labels."""

import copy

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

from options import options


@torch.no_grad()
def follow(teacher, student, keep=0.97):
    for (name, t), s in zip(teacher.state_dict().items(), student.state_dict().values()):
        t.copy_(keep * t + (1 - keep) * s if t.is_floating_point() else s)


def main():
    args = options(lr=3e-2, width=64, steps=70)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    x, y = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
    student = nn.Sequential(nn.Linear(64, args.width), nn.BatchNorm1d(args.width), nn.ReLU(), nn.Linear(args.width, 10))
    teacher = copy.deepcopy(student).requires_grad_(False).eval()
    optimizer = torch.optim.SGD(student.parameters(), lr=args.lr, momentum=0.9)
    for step in range(args.steps):
        labelled, free = torch.randint(0, 200, (32,)), torch.randint(0, 1400, (64,))
        loss = F.cross_entropy(student(x[labelled]), y[labelled])
        with torch.no_grad():
            goal = F.softmax(teacher(x[free]), dim=1)
        noisy = F.log_softmax(student(x[free] + 0.2 * torch.randn(64, 64)), dim=1)
        loss = loss + min(1.0, step / 40) * F.kl_div(noisy, goal, reduction="batchmean")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        follow(teacher, student)
        if step % 20 == 19:
            with torch.no_grad():
                right = (teacher(x[1400:]).argmax(1) == y[1400:]).float().mean()
            print(f"step {step + 1}: accuracy of the teacher {right:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
