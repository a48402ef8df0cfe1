"""A teacher is trained and frozen, a student learns its softened answers; the student's best weights by validation are kept as a copy and put back."""

import copy

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from options import options


def network(width):
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 10))


def distilled(answer, goal, temperature):
    soft = F.softmax(goal / temperature, dim=-1)
    return F.kl_div(F.log_softmax(answer / temperature, dim=-1), soft, reduction="batchmean") * temperature**2


def main():
    args = options(lr=6e-3, width=64, steps=108)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    raw = load_digits()
    x = torch.tensor(raw.data / 16, dtype=torch.float32)
    y = torch.tensor(raw.target)
    loader = DataLoader(TensorDataset(x[:1200], y[:1200]), batch_size=100, shuffle=True)
    teacher, student = network(2 * args.width), network(args.width // 2)
    optimizer = torch.optim.Adam(teacher.parameters(), lr=args.lr)
    for _ in range(4):
        for xb, yb in loader:
            optimizer.zero_grad()
            F.cross_entropy(teacher(xb), yb).backward()
            optimizer.step()
    teacher.eval().requires_grad_(False)
    optimizer = torch.optim.Adam(student.parameters(), lr=args.lr)
    best, kept, patience = float("inf"), None, 0
    for epoch in range(max(3, args.steps // len(loader))):
        student.train()
        for xb, _ in loader:
            with torch.no_grad():
                goal = teacher(xb)
            loss = distilled(student(xb), goal, 3.0)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        student.eval()
        with torch.no_grad():
            val = F.cross_entropy(student(x[1200:]), y[1200:]).item()
        if val < 0.95 * best:
            best, kept, patience = val, copy.deepcopy(student.state_dict()), 0
        else:
            patience += 1
        print(f"epoch {epoch}: loss {loss.item():.4f} val {val:.3f}")
        if patience == 2:
            break
    student.load_state_dict(kept)
    student.eval()
    with torch.no_grad():
        print(f"best {F.cross_entropy(student(x[1200:]), y[1200:]).item():.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
