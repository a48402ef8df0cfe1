"""BYOL: the teacher is an average whose pace slows by a cosine; its batch norms work on the batch, the predictor is on one side."""
import argparse
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier


def view(x):
    image = x.view(-1, 8, 8)
    image = torch.roll(image, tuple(torch.randint(-1, 2, (2,)).tolist()), dims=(1, 2))
    return (image * (torch.rand_like(image) > 0.15) + 0.05 * torch.randn_like(image)).flatten(1)


def encoder():
    return nn.Sequential(nn.Linear(64, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Linear(96, 32))


def distance(p, z):
    return 2 - 2 * F.cosine_similarity(p, z.detach(), dim=1).mean()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    digits = load_digits()
    x = torch.tensor(digits.data / 16.0, dtype=torch.float32)
    student = encoder()
    teacher = copy.deepcopy(student).requires_grad_(False)
    predictor = nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))
    optimizer = torch.optim.AdamW([*student.parameters(), *predictor.parameters()], lr=args.lr, weight_decay=1e-3)
    for step in range(args.steps):
        rows = x[torch.randint(0, 1400, (96,))]
        a, b = view(rows), view(rows)
        with torch.no_grad():
            za, zb = teacher(a), teacher(b)
        loss = distance(predictor(student(a)), zb) + distance(predictor(student(b)), za)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        pace = 0.02 * (math.cos(math.pi * step / args.steps) + 1) / 2
        with torch.no_grad():
            for slow, fast in zip(teacher.parameters(), student.parameters()):
                slow.lerp_(fast, pace)
        if step % 40 == 39:
            print(f"step {step + 1} loss {loss.item():.4f} pace {pace:.4f}")
    student.eval()
    with torch.no_grad():
        h = F.normalize(student(x), dim=1).numpy()
    score = KNeighborsClassifier(5).fit(h[:1400], digits.target[:1400]).score(h[1400:], digits.target[1400:])
    print(f"RESULT loss={loss.item():.4f} neighbours={score:.3f}")


if __name__ == "__main__":
    main()
