"""Distillation of a small causal model into a smaller one: KL to the teacher's next-token distribution plus cross-entropy."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, SEQ, PAD = 30, 12, 0


class CausalLM(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width, padding_idx=PAD)
        self.rnn = nn.GRU(width, width, num_layers=depth, batch_first=True)
        self.head = nn.Linear(width, VOCAB)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def corpus(rows, gen):
    """Two possible strides; each next token goes on with the stride, or one further in a third of the cases."""
    ids = [torch.randint(1, VOCAB, (rows,), generator=gen)]
    stride = torch.where(torch.rand(rows, generator=gen) < 0.5, 2, 7)
    for _ in range(SEQ - 1):
        extra = (torch.rand(rows, generator=gen) < 0.33).long()
        ids.append((ids[-1] - 1 + stride + extra) % (VOCAB - 1) + 1)
    ids = torch.stack(ids, dim=1)
    length = torch.randint(SEQ // 2, SEQ + 1, (rows, 1), generator=gen)
    return ids.masked_fill(torch.arange(SEQ) >= length, PAD)


def shift(logits, ids):
    """Position t of the logits speaks about token t + 1."""
    return logits[:, :-1], ids[:, 1:]


class DistillationLoss:
    def __init__(self, temperature=1.5, alpha=0.8):
        self.temperature, self.alpha = temperature, alpha

    def __call__(self, student_logits, teacher_logits, labels):
        valid = labels != PAD
        student = F.log_softmax(student_logits / self.temperature, dim=-1)
        teacher = F.log_softmax(teacher_logits / self.temperature, dim=-1)
        per_token = (teacher.exp() * (teacher - student)).sum(-1)
        kd = (per_token * valid).sum() / valid.sum() * self.temperature ** 2
        ce = F.cross_entropy(student_logits.flatten(0, 1), labels.flatten(), ignore_index=PAD)
        return self.alpha * kd + (1 - self.alpha) * ce, kd.item(), ce.item()


def train_teacher(gen):
    teacher = CausalLM(64, 1)
    optimizer = torch.optim.AdamW(teacher.parameters(), lr=1e-2)
    for _ in range(90):
        ids = corpus(64, gen)
        logits, labels = shift(teacher(ids), ids)
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return teacher.eval().requires_grad_(False)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=8e-3)
    ap.add_argument("--steps", type=int, default=100)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    teacher, student = train_teacher(gen), CausalLM(32, 1)
    loss_fn = DistillationLoss()
    optimizer = torch.optim.AdamW(student.parameters(), lr=args.lr)
    for step in range(args.steps):
        ids = corpus(48, gen)
        student_logits, labels = shift(student(ids), ids)
        with torch.no_grad():
            teacher_logits, _ = shift(teacher(ids), ids)
        loss, kd, ce = loss_fn(student_logits, teacher_logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print(f"step {step} loss {loss.item():.4f} kd {kd:.4f} ce {ce:.4f}")
    ids = corpus(512, torch.Generator().manual_seed(2468))
    with torch.no_grad():
        logits, labels = shift(student(ids), ids)
        ce = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=PAD).item()
        agree = (logits.argmax(-1) == teacher(ids)[:, :-1].argmax(-1))[labels != PAD].float().mean().item()
    print(f"EVIDENCE student_ce={ce:.4f} agrees_with_teacher={agree:.4f}")


if __name__ == "__main__":
    main()
