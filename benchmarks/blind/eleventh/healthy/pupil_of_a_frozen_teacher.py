"""Distillation: a teacher is trained and frozen, the student learns its soft answers at a falling temperature and a hidden layer at first."""
import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class MLP(nn.Module):
    def __init__(self, width, dropout=0.0):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Dropout(dropout))
        self.second = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Dropout(dropout))
        self.out = nn.Linear(width, 10)

    def forward(self, x, hidden=False):
        h = self.second(self.first(x))
        return (self.out(h), h) if hidden else self.out(h)


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def train_teacher(teacher, loader, lr, steps):
    optimizer = torch.optim.Adam(teacher.parameters(), lr=lr)
    step = 0
    while step < steps:
        teacher.train()
        for x, y in loader:
            loss = nn.functional.cross_entropy(teacher(x), y, label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
    return loss.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=500)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y = load_digits(return_X_y=True)
    order = torch.randperm(len(x))
    x, y = torch.tensor(x, dtype=torch.float32)[order] / 16, torch.tensor(y)[order]
    loader = DataLoader(TensorDataset(x[:1000], y[:1000]), batch_size=40, shuffle=True)
    test_x, test_y = x[1000:], y[1000:]
    teacher, student, hint = MLP(128, 0.2), MLP(12), nn.Linear(12, 128)
    loss = train_teacher(teacher, loader, args.lr, args.steps // 2)
    print(f"teacher: loss {loss:.4f}, right {accuracy(teacher, test_x, test_y):.4f}")
    teacher.eval().requires_grad_(False)
    optimizer = torch.optim.AdamW([*student.parameters(), *hint.parameters()], lr=2 * args.lr)
    total = args.steps - args.steps // 2
    step = 0
    while step < total:
        student.train()
        for xb, yb in loader:
            temperature = 1.5 + 3.5 * (1 - step / total)
            xb = xb + 0.1 * torch.randn_like(xb)
            with torch.no_grad():
                soft, target = teacher(xb, hidden=True)
            logits, h = student(xb, hidden=True)
            kl = nn.functional.kl_div((logits / temperature).log_softmax(1), (soft / temperature).log_softmax(1),
                                      reduction="batchmean", log_target=True) * temperature ** 2
            sure = soft.argmax(1) == yb
            loss = 0.7 * kl + 0.3 * nn.functional.cross_entropy(logits, yb)
            if step < total // 3 and sure.any():
                loss = loss + 0.5 * nn.functional.mse_loss(hint(h)[sure], target[sure])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 50 == 0:
                print(f"step {step}: temperature {temperature:.2f}, kl {kl.item():.4f}, student right {accuracy(student, test_x, test_y):.4f}")
                student.train()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
