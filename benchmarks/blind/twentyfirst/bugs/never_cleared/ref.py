"""Distillation of a large next-item model into a small one, with micro-batches accumulated before each update."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

ITEMS, LENGTH = 20, 12


class NextItem(nn.Module):
    def __init__(self, dim, seed=None):
        super().__init__()
        self.embed = nn.Embedding(ITEMS, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, ITEMS)

    def forward(self, ids):
        return self.out(self.rnn(self.embed(ids))[0])


def sessions(n, gen):
    ids = torch.randint(0, ITEMS, (n, LENGTH + 1), generator=gen)
    for t in range(1, LENGTH + 1):
        follow = torch.rand(n, generator=gen) < 0.8
        ids[:, t] = torch.where(follow, (3 * ids[:, t - 1] + 1) % ITEMS, ids[:, t])
    return ids


def distillation_loss(student_logits, teacher_logits, labels, temperature=2.0, alpha=0.7):
    soft = F.kl_div(
        F.log_softmax(student_logits / temperature, -1).flatten(0, 1),
        F.log_softmax(teacher_logits / temperature, -1).flatten(0, 1),
        reduction="batchmean", log_target=True)
    hard = F.cross_entropy(student_logits.flatten(0, 1), labels.flatten())
    return alpha * temperature**2 * soft + (1 - alpha) * hard


def prepare_teacher(gen, steps):
    teacher = NextItem(64)
    optimizer = torch.optim.Adam(teacher.parameters(), lr=5e-3)
    for _ in range(steps):
        ids = sessions(64, gen)
        loss = F.cross_entropy(teacher(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return teacher.eval().requires_grad_(False)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.5)
    ap.add_argument("--steps", type=int, default=120, help="updates")
    ap.add_argument("--accumulate", type=int, default=4)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    teacher = prepare_teacher(gen, 60)
    student = NextItem(24)
    optimizer = torch.optim.SGD(student.parameters(), lr=args.lr, momentum=0.9)
    norms, micro = [], 0
    while len(norms) < args.steps:
        ids = sessions(16, gen)
        with torch.no_grad():
            wanted = teacher(ids[:, :-1])
        loss = distillation_loss(student(ids[:, :-1]), wanted, ids[:, 1:])
        (loss / args.accumulate).backward()
        micro += 1
        if micro % args.accumulate == 0:
            norms.append(nn.utils.clip_grad_norm_(student.parameters(), 1.0).item())
            optimizer.step()
            optimizer.zero_grad()
            if len(norms) % 30 == 0:
                print(f"update {len(norms)} loss {loss.item():.4f} norm {norms[-1]:.3f}")
    half = len(norms) // 2
    clipped = sum(n > 1.0 for n in norms[half:]) / (len(norms) - half)
    print(f"EVIDENCE mean_norm={sum(norms) / len(norms):.4f} clipped={clipped:.3f} loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
