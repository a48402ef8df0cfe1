"""Distillation of a message completer: a wide teacher, a narrow student, right-padded messages."""
import argparse

import torch
from torch import nn
import torch.nn.functional as F

PAD, VOCAB = 0, 32
T = 2.0


class Completer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        return self.out(self.gru(self.embed(ids))[0])


def messages(n, gen):
    """Mostly short messages and some long ones, so that batches hold much padding."""
    rule = torch.randint(1, VOCAB, (3, VOCAB), generator=torch.Generator().manual_seed(2))
    lengths = torch.where(torch.rand(n, generator=gen) < 0.9, 5, 36)
    ids = torch.randint(1, VOCAB, (n, 1), generator=gen)
    mood = torch.randint(3, (n,), generator=gen)
    for i in range(35):
        nxt = rule[(mood + i) % 3, ids[:, -1]]
        noise = torch.rand(n, generator=gen) < 0.1
        nxt = torch.where(noise, torch.randint(1, VOCAB, (n,), generator=gen), nxt)
        ids = torch.cat([ids, nxt[:, None]], 1)
    mask = torch.arange(36)[None] < lengths[:, None]
    return ids * mask, mask


def train_teacher(teacher, gen, steps=150):
    opt = torch.optim.Adam(teacher.parameters(), lr=5e-3)
    for _ in range(steps):
        ids, mask = messages(48, gen)
        targets = ids.masked_fill(~mask, -100)
        loss = F.cross_entropy(teacher(ids[:, :-1]).flatten(0, 1), targets[:, 1:].flatten(), ignore_index=-100)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def soft_loss(student_logits, teacher_logits, mask):
    kl = F.kl_div(
        F.log_softmax(student_logits / T, -1),
        F.log_softmax(teacher_logits / T, -1),
        reduction="none",
        log_target=True,
    ).sum(-1)
    weight = mask.float()
    return (kl * weight).sum() / weight.sum() * T * T


@torch.no_grad()
def quality(student, teacher, gen):
    ids, mask = messages(400, gen)
    p, q = teacher(ids).log_softmax(-1), student(ids).log_softmax(-1)
    kl = (p.exp() * (p - q)).sum(-1)
    return kl[mask].mean().item(), (1 - mask.float().mean()).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=150)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    teacher, student = Completer(64), Completer(20)
    print(f"teacher loss {train_teacher(teacher, gen):.4f}")
    teacher.requires_grad_(False).eval()

    opt = torch.optim.AdamW(student.parameters(), lr=args.lr)
    for step in range(args.steps):
        ids, mask = messages(48, gen)
        teacher_logits = teacher(ids)
        loss = soft_loss(student(ids), teacher_logits, mask)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        opt.step()
        if step % 50 == 0:
            print(f"step {step} soft loss {loss.item():.4f}")
    kl, pad_share = quality(student, teacher, gen)
    print(f"EVIDENCE kl_on_real_tokens={kl:.4f} pad_share={pad_share:.2f} final_loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
