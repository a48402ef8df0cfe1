"""Self-distillation without labels (DINO style) on digits, with gradient accumulation."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier


def load_data(seed):
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
    y = torch.tensor(digits.target)
    perm = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    x, y = x[perm], y[perm]
    return (x[:1300], y[:1300]), (x[1300:], y[1300:])


def augment(x):
    """Random shift by up to one pixel, gain, and additive noise."""
    n = len(x)
    padded = F.pad(x, (1, 1, 1, 1))
    dx = torch.randint(0, 3, (n,))
    dy = torch.randint(0, 3, (n,))
    rows = dy[:, None] + torch.arange(8)
    cols = dx[:, None] + torch.arange(8)
    out = padded[torch.arange(n)[:, None, None], 0, rows[:, :, None], cols[:, None, :]]
    gain = 0.7 + 0.6 * torch.rand(n, 1, 1)
    return (out * gain + 0.1 * torch.randn_like(out)).unsqueeze(1)


class Encoder(nn.Module):
    def __init__(self, dim=64, prototypes=48):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.GELU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.GELU(),
            nn.Flatten(), nn.Linear(32 * 16, dim), nn.LayerNorm(dim),
        )
        self.head = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, prototypes))

    def forward(self, x):
        return self.head(self.backbone(x))


class DINOLoss(nn.Module):
    def __init__(self, prototypes=48, student_temp=0.1, teacher_temp=0.05, center_momentum=0.9):
        super().__init__()
        self.student_temp = student_temp
        self.teacher_temp = teacher_temp
        self.center_momentum = center_momentum
        self.register_buffer("center", torch.zeros(prototypes))

    def forward(self, student_views, teacher_views):
        targets = [F.softmax((t - self.center) / self.teacher_temp, dim=-1) for t in teacher_views]
        logps = [F.log_softmax(s / self.student_temp, dim=-1) for s in student_views]
        loss_a = -(targets[0] * logps[1]).sum(-1).mean()
        loss_b = -(targets[1] * logps[0]).sum(-1).mean()
        return 0.5 * (loss_a + loss_b)

    @torch.no_grad()
    def update_center(self, teacher_out):
        m = self.center_momentum
        self.center.mul_(m).add_(teacher_out.mean(0), alpha=1 - m)


@torch.no_grad()
def update_teacher(student, teacher, momentum):
    for ps, pt in zip(student.parameters(), teacher.parameters()):
        pt.mul_(momentum).add_(ps, alpha=1 - momentum)


@torch.no_grad()
def knn_accuracy(encoder, train, test):
    encoder.eval()
    knn = KNeighborsClassifier(n_neighbors=5, metric="cosine")
    knn.fit(encoder.backbone(train[0]).numpy(), train[1].numpy())
    acc = knn.score(encoder.backbone(test[0]).numpy(), test[1].numpy())
    encoder.train()
    return acc


@torch.no_grad()
def teacher_lag(student, teacher):
    num = sum((a - b).pow(2).sum() for a, b in zip(student.parameters(), teacher.parameters()))
    den = sum(p.pow(2).sum() for p in student.parameters())
    return (num / den).sqrt().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--micro-batch", type=int, default=32)
    parser.add_argument("--accumulate", type=int, default=4)
    parser.add_argument("--momentum", type=float, default=0.97)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    train, test = load_data(args.seed)
    student = Encoder()
    teacher = copy.deepcopy(student)
    for p in teacher.parameters():
        p.requires_grad_(False)
    criterion = DINOLoss()
    optimizer = torch.optim.AdamW(student.parameters(), lr=args.lr, weight_decay=0.02)
    print(f"knn before training: {knn_accuracy(teacher, train, test):.3f}")

    for step in range(args.steps):
        optimizer.zero_grad()
        total = 0.0
        teacher_outputs = []
        for _ in range(args.accumulate):
            idx = torch.randint(0, len(train[0]), (args.micro_batch,))
            views = [augment(train[0][idx]) for _ in range(2)]
            with torch.no_grad():
                t_out = [teacher(v) for v in views]
            s_out = [student(v) for v in views]
            loss = criterion(s_out, t_out) / args.accumulate
            loss.backward()
            total += loss.item()
            teacher_outputs.append(torch.cat(t_out))
        torch.nn.utils.clip_grad_norm_(student.parameters(), 3.0)
        optimizer.step()
        update_teacher(student, teacher, args.momentum)
        criterion.update_center(torch.cat(teacher_outputs))
        if step % 10 == 0 or step == args.steps - 1:
            print(f"step {step:3d}  loss {total:.4f}  lag {teacher_lag(student, teacher):.4f}")

    acc = knn_accuracy(teacher, train, test)
    print(f"EVIDENCE knn_accuracy={acc:.4f} teacher_lag={teacher_lag(student, teacher):.4f}")


if __name__ == "__main__":
    main()
