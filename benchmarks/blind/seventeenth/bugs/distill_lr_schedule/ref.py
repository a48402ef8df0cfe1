"""Distil a trained character LM into a narrower draft model, with gradient accumulation."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn import datasets

CONTEXT = 24


class CharGRU(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        return self.out(h)


def read_corpus():
    text = datasets.load_breast_cancer().DESCR + datasets.load_diabetes().DESCR + datasets.load_wine().DESCR
    chars = sorted(set(text))
    index = {c: i for i, c in enumerate(chars)}
    return torch.tensor([index[c] for c in text]), len(chars)


def get_batch(data, size, gen):
    starts = torch.randint(0, len(data) - CONTEXT - 1, (size,), generator=gen).tolist()
    block = torch.stack([data[s:s + CONTEXT + 1] for s in starts])
    return block[:, :-1], block[:, 1:]


def lr_at(step, total, peak, warmup_ratio=0.1, floor=0.01):
    warmup = max(1, int(total * warmup_ratio))
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = min(1.0, (step - warmup) / max(1, total - warmup))
    return peak * (floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * progress)))


def set_lr(optimizer, lr):
    for group in optimizer.param_groups:
        group["lr"] = lr


def distill_loss(student_logits, teacher_logits, targets, temperature, alpha):
    s = F.log_softmax(student_logits / temperature, dim=-1)
    t = F.log_softmax(teacher_logits / temperature, dim=-1)
    kl = F.kl_div(s, t, reduction="none", log_target=True).sum(-1).mean() * temperature ** 2
    ce = F.cross_entropy(student_logits.flatten(0, 1), targets.flatten())
    return alpha * kl + (1 - alpha) * ce


def train_teacher(model, data, gen, steps=80):
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(steps):
        x, y = get_batch(data, 16, gen)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"teacher loss {loss.item():.4f}")
    model.eval().requires_grad_(False)


@torch.no_grad()
def agreement(student, teacher, data):
    gen = torch.Generator().manual_seed(99)
    x, y = get_batch(data, 128, gen)
    s, t = student(x), teacher(x)
    same = (s.argmax(-1) == t.argmax(-1)).float().mean().item()
    ce = F.cross_entropy(s.flatten(0, 1), y.flatten()).item()
    return same, ce


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=6e-3)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--accumulation-steps", type=int, default=4)
    parser.add_argument("--micro-batch", type=int, default=8)
    parser.add_argument("--temperature", type=float, default=2.0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    data, vocab = read_corpus()

    teacher = CharGRU(vocab, 96)
    train_teacher(teacher, data, gen)
    student = CharGRU(vocab, 48)
    optimizer = torch.optim.AdamW(student.parameters(), lr=args.lr, weight_decay=0.0)

    update_step = 0
    running = 0.0
    for global_step in range(args.steps * args.accumulation_steps):
        x, y = get_batch(data, args.micro_batch, gen)
        with torch.no_grad():
            teacher_logits = teacher(x)
        loss = distill_loss(student(x), teacher_logits, y, args.temperature, alpha=0.7)
        (loss / args.accumulation_steps).backward()
        running += loss.item() / args.accumulation_steps
        if (global_step + 1) % args.accumulation_steps == 0:
            nn.utils.clip_grad_norm_(student.parameters(), 1.0)
            set_lr(optimizer, lr_at(update_step, args.steps, args.lr))
            optimizer.step()
            optimizer.zero_grad()
            if update_step % 10 == 0:
                print(f"update {update_step} loss {running:.4f}")
            update_step += 1
            running = 0.0

    same, ce = agreement(student, teacher, data)
    print(f"EVIDENCE student_ce={ce:.4f} top1_agreement={same:.4f}")


if __name__ == "__main__":
    main()
