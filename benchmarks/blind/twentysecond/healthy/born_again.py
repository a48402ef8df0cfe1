"""Generations: each student begins from nothing and learns from the one before; the teacher is the last student, frozen."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def network():
    return nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Dropout(0.2), nn.Linear(48, 6))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=90)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    centres = torch.randn(6, 16, generator=torch.Generator().manual_seed(9))
    y = torch.randint(0, 6, (900,))
    x = centres[y] + 1.3 * torch.randn(900, 16)
    noisy = torch.where(torch.rand(900) < 0.15, torch.randint(0, 6, (900,)), y)
    teacher, heat = None, 2.0
    for generation in range(3):
        student = network()
        optimizer = torch.optim.Adam(student.parameters(), lr=args.lr)
        for step in range(args.steps):
            rows = torch.randint(0, 600, (48,))
            logits = student(x[rows])
            loss = F.cross_entropy(logits, noisy[rows])
            if teacher is not None:
                with torch.no_grad():
                    soft = (teacher(x[rows]) / heat).softmax(1)
                match = F.kl_div((logits / heat).log_softmax(1), soft, reduction="batchmean") * heat ** 2
                loss = 0.5 * loss + 0.5 * match
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        teacher = student.eval().requires_grad_(False)
        right = (teacher(x[600:]).argmax(1) == y[600:]).float().mean().item()
        print(f"generation {generation} loss {loss.item():.4f} accuracy {right:.3f}")
    print(f"RESULT accuracy={right:.3f}")


if __name__ == "__main__":
    main()
