"""Self-distillation in the manner of DINO on small signals, with gradients accumulated over micro-batches."""
import argparse
import copy

import torch
import torch.nn.functional as F
from torch import nn

DIM, PROTOTYPES = 32, 24


class Projector(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(DIM, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 16))
        self.prototypes = nn.utils.parametrizations.weight_norm(nn.Linear(16, PROTOTYPES, bias=False))
        self.prototypes.parametrizations.weight.original0.data.fill_(1.0)
        self.prototypes.parametrizations.weight.original0.requires_grad_(False)

    def forward(self, x):
        return self.prototypes(F.normalize(self.body(x), dim=-1))


class DINOLoss(nn.Module):
    def __init__(self, momentum=0.9, teacher_temp=0.04, student_temp=0.1):
        super().__init__()
        self.momentum, self.teacher_temp, self.student_temp = momentum, teacher_temp, student_temp
        self.register_buffer("center", torch.zeros(1, PROTOTYPES))
        self.share_of_old = 1.0

    def forward(self, student, teacher):
        target = ((teacher - self.center) / self.teacher_temp).softmax(-1).detach()
        return -(target * (student / self.student_temp).log_softmax(-1)).sum(-1).mean()

    @torch.no_grad()
    def update_center(self, teacher):
        self.center.mul_(self.momentum).add_(teacher.mean(0, keepdim=True), alpha=1 - self.momentum)
        self.share_of_old *= self.momentum


def signals(gen, n):
    """Waves of one of eight pitches; the level of the whole batch wanders a little."""
    pitch = torch.randint(1, 9, (n,), generator=gen)
    phase = 6.28 * torch.rand(n, 1, generator=gen)
    t = torch.arange(DIM) / DIM * 6.28
    return torch.sin(pitch[:, None] * t + phase) + 0.15 * torch.randn(1, DIM, generator=gen), pitch


def view(x, gen):
    return x.roll(int(torch.randint(-1, 2, (), generator=gen)), 1) + 0.2 * torch.randn(x.shape, generator=gen)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--accumulate", type=int, default=4)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    student = Projector()
    teacher = copy.deepcopy(student).requires_grad_(False)
    criterion = DINOLoss()
    optimizer = torch.optim.AdamW([p for p in student.parameters() if p.requires_grad], lr=args.lr)
    gen = torch.Generator().manual_seed(args.seed + 15)
    jumps, shown = 0.0, []
    for step in range(args.steps):
        optimizer.zero_grad()
        outputs, used = [], []
        for _ in range(args.accumulate):
            x, _ = signals(gen, 16)
            first, second = view(x, gen), view(x, gen)
            with torch.no_grad():
                guide = teacher(first)
            used.append(criterion.center.clone())
            loss = criterion(student(second), guide)
            (loss / args.accumulate).backward()
            outputs.append(guide)
            shown.append(loss.item())
        criterion.update_center(torch.cat(outputs))
        optimizer.step()
        jumps += (used[-1] - used[0]).norm().item() / args.steps
        with torch.no_grad():
            for old, new in zip(teacher.parameters(), student.parameters()):
                old.lerp_(new, 0.02)
        if (step + 1) % 10 == 0:
            print(f"step {step + 1} loss {sum(shown[-40:]) / 40:.4f}")
    kept = criterion.share_of_old ** (1 / args.steps)
    print(f"EVIDENCE old_center_kept_per_step={kept:.4f} center_moved_within_a_step={jumps:.5f}")


if __name__ == "__main__":
    main()
