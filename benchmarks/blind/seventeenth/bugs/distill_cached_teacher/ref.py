"""Knowledge distillation on digits: teacher logits are computed once and cached per training sample."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset


class IndexedDigits(Dataset):
    """Returns image, label and the index of the sample."""

    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i], i


class Teacher(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(width * 16, 64), nn.ReLU(), nn.Linear(64, 10),
        )

    def forward(self, x):
        return self.net(x)


class Student(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, 10))

    def forward(self, x):
        return self.net(x)


def endless(loader):
    while True:
        yield from loader


def train_teacher(loader, steps):
    teacher = Teacher()
    optimizer = torch.optim.Adam(teacher.parameters(), lr=2e-3)
    stream = endless(loader)
    for step in range(steps):
        x, y, _ = next(stream)
        loss = F.cross_entropy(teacher(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"teacher loss {loss.item():.4f}")
    return teacher.eval()


@torch.no_grad()
def cache_logits(teacher, loader):
    """Teacher logits of the whole training set, row i belongs to sample i."""
    return torch.cat([teacher(x) for x, _, _ in loader])


def kd_loss(student_logits, teacher_logits, y, alpha, temperature):
    soft = F.kl_div(
        F.log_softmax(student_logits / temperature, dim=1),
        F.softmax(teacher_logits / temperature, dim=1),
        reduction="batchmean",
    ) * temperature ** 2
    hard = F.cross_entropy(student_logits, y)
    return alpha * soft + (1 - alpha) * hard, soft, hard


@torch.no_grad()
def accuracy(model, x, y):
    return (model(x).argmax(1) == y).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--teacher-steps", type=int, default=60)
    parser.add_argument("--alpha", type=float, default=0.7)
    parser.add_argument("--temperature", type=float, default=3.0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
    y = torch.tensor(digits.target)
    perm = torch.randperm(len(x))
    x, y = x[perm], y[perm]
    train_set = IndexedDigits(x[:1200], y[:1200])
    test_x, test_y = x[1200:], y[1200:]
    train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
    eval_loader = DataLoader(train_set, batch_size=256, shuffle=False)

    teacher = train_teacher(train_loader, args.teacher_steps)
    print(f"teacher accuracy {accuracy(teacher, test_x, test_y):.4f}")
    teacher_logits = cache_logits(teacher, eval_loader)

    student = Student()
    optimizer = torch.optim.Adam(student.parameters(), lr=args.lr)
    stream = endless(train_loader)
    for step in range(args.steps):
        xb, yb, idx = next(stream)
        logits = student(xb)
        loss, soft, hard = kd_loss(logits, teacher_logits[idx], yb, args.alpha, args.temperature)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step:3d} loss {loss.item():.4f} soft {soft.item():.4f} hard {hard.item():.4f}")

    with torch.no_grad():
        agreement = (student(test_x).argmax(1) == teacher(test_x).argmax(1)).float().mean().item()
        test_loss = F.cross_entropy(student(test_x), test_y).item()
    acc = accuracy(student, test_x, test_y)
    print(f"agreement with teacher {agreement:.4f}")
    print(f"EVIDENCE test_accuracy={acc:.4f} test_loss={test_loss:.4f}")


if __name__ == "__main__":
    main()
