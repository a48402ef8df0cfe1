"""Distil a wide classifier of leaf shapes into a narrow one with softened outputs."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

SPECIES, POINTS = 6, 30


def leaves(n, gen, wind=0.0):
    """Contour radius at 30 angles; wind bends the contour, as in the unlabelled photographs."""
    kind = torch.randint(0, SPECIES, (n,), generator=gen)
    angle = torch.linspace(0, 6.2832, POINTS)[None]
    lobes = (kind + 2).float()[:, None]
    radius = 1 + 0.3 * torch.sin(lobes * angle + 0.4 * torch.randn(n, 1, generator=gen))
    return radius + wind * torch.cos(angle) + 0.12 * torch.randn(n, POINTS, generator=gen), kind


def classifier(width, p):
    return nn.Sequential(
        nn.Linear(POINTS, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(p),
        nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(p),
        nn.Linear(width, SPECIES),
    )


@torch.no_grad()
def score(model, x, y):
    mode = model.training
    model.eval()
    acc = (model(x).argmax(1) == y).float().mean().item()
    model.train(mode)
    return acc


def train_teacher(gen, steps=150):
    teacher = classifier(96, 0.4)
    opt = torch.optim.Adam(teacher.parameters(), lr=3e-3)
    for _ in range(steps):
        x, y = leaves(64, gen)
        opt.zero_grad()
        F.cross_entropy(teacher(x), y).backward()
        opt.step()
    return teacher


def distill_loss(student_logits, teacher_logits, temperature):
    log_p = F.log_softmax(student_logits / temperature, dim=1)
    q = F.softmax(teacher_logits / temperature, dim=1)
    return F.kl_div(log_p, q, reduction="batchmean") * temperature ** 2


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--temperature", type=float, default=3.0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(args.seed)
    test = leaves(600, torch.Generator().manual_seed(10))

    teacher = train_teacher(gen)
    print(f"teacher accuracy {score(teacher, *test):.3f}")
    for p in teacher.parameters():
        p.requires_grad = False
    teacher.eval()
    mean_before = teacher[1].running_mean.clone()

    student = classifier(16, 0.0)
    optimizer = torch.optim.Adam(student.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        x, _ = leaves(16, gen, wind=0.15)
        with torch.no_grad():
            target = teacher(x)
        loss = distill_loss(student(x), target, args.temperature)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step} kd {loss.item():.4f} student {score(student, *test):.3f}")
    drift = (teacher[1].running_mean - mean_before).abs().max().item()
    print(f"EVIDENCE teacher_stat_drift={drift:.4f} kd={loss.item():.4f} student={score(student, *test):.3f}")


if __name__ == "__main__":
    main()
