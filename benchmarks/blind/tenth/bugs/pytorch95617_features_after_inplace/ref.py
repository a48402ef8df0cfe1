"""A narrow network learns digits from a wide one: features in front of the activation are matched by hooks."""
import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=200)
    return parser.parse_args()


class ConvNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(width)
        self.act = nn.ReLU()
        self.fc = nn.Linear(width * 4, 10)

    def forward(self, x):
        x = F.max_pool2d(self.act(self.norm1(self.conv1(x))), 2)
        x = F.max_pool2d(self.act(self.norm2(self.conv2(x))), 2)
        return self.fc(x.flatten(1))


class FeatureTap:
    """Keeps what a module returned in the last forward."""

    def __init__(self, module):
        self.value = None
        module.register_forward_hook(self.keep)

    def keep(self, module, inputs, output):
        self.value = output


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    right = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    model.train()
    return right / len(loader.dataset)


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(digits.target)
    x1, x2, y1, y2 = train_test_split(images, labels, test_size=0.3, random_state=args.seed)
    train = DataLoader(TensorDataset(x1, y1), batch_size=64, shuffle=True, drop_last=True)
    valid = DataLoader(TensorDataset(x2, y2), batch_size=256)

    teacher = ConvNet(24)
    optimizer = torch.optim.Adam(teacher.parameters(), lr=3e-3)
    for _ in range(4):
        for x, y in train:
            optimizer.zero_grad()
            F.cross_entropy(teacher(x), y).backward()
            optimizer.step()
    print(f"teacher {accuracy(teacher, valid):.4f}")
    teacher.eval().requires_grad_(False)

    student = ConvNet(8)
    adapter = nn.Conv2d(8, 24, 1)
    teacher_tap, student_tap = FeatureTap(teacher.norm2), FeatureTap(student.norm2)
    optimizer = torch.optim.Adam([*student.parameters(), *adapter.parameters()], lr=args.lr)
    step = 0
    while step < args.steps:
        for x, y in train:
            with torch.no_grad():
                teacher(x)
            logits = student(x)
            hint = F.mse_loss(adapter(student_tap.value), teacher_tap.value)
            loss = F.cross_entropy(logits, y) + 2.0 * hint
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 50 == 0:
                print(f"step {step}: loss {loss.item():.4f}, hint {hint.item():.4f}")
            if step == args.steps:
                break
    score = accuracy(student, valid)
    with torch.no_grad():
        teacher(x2)
    print(f"EVIDENCE least feature of the teacher {teacher_tap.value.min().item():.4f}, hint {hint.item():.4f}, student {score:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
