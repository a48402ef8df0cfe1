"""Distil an LSTM tagger into a convolutional one on synthetic sequences."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, TAGS, LENGTH = 12, 4, 20

CONFIG = {
    "teacher_dim": 48,
    "student_dim": 24,
    "teacher_steps": 60,
    "temperature": 2.0,
    "hard_weight": 0.25,
}


def make(n, gen):
    """The tag of a token depends on the token and the one before it."""
    x = torch.randint(VOCAB, (n, LENGTH), generator=gen)
    prev = torch.cat([torch.zeros(n, 1, dtype=torch.long), x[:, :-1]], dim=1)
    y = (x // 3 + (prev > x).long()) % TAGS
    flip = torch.rand(n, LENGTH, generator=gen) < 0.05
    noise = torch.randint(TAGS, (n, LENGTH), generator=gen)
    return x, torch.where(flip, noise, y)


class LSTMTagger(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.rnn = nn.LSTM(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, TAGS)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


class ConvTagger(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.conv = nn.Conv1d(dim, dim, kernel_size=2)
        self.out = nn.Linear(dim, TAGS)

    def forward(self, x):
        h = F.pad(self.emb(x).transpose(1, 2), (1, 0))
        return self.out(F.relu(self.conv(h)).transpose(1, 2))


def hard_loss(logits, y):
    return F.cross_entropy(logits.flatten(0, 1), y.flatten())


def soft_loss(student, teacher, t):
    s = F.log_softmax(student.flatten(0, 1) / t, dim=-1)
    p = F.log_softmax(teacher.flatten(0, 1) / t, dim=-1)
    return t * t * F.kl_div(s, p, reduction="batchmean", log_target=True)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--steps", type=int, default=50)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 1)
    teacher = LSTMTagger(CONFIG["teacher_dim"])
    opt = torch.optim.Adam(teacher.parameters(), lr=1e-2)
    for _ in range(CONFIG["teacher_steps"]):
        x, y = make(48, gen)
        loss = hard_loss(teacher(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    teacher.eval().requires_grad_(False)
    print(f"teacher loss {loss.item():.6f}")

    student = ConvTagger(CONFIG["student_dim"])
    opt = torch.optim.Adam(student.parameters(), lr=args.lr)
    w, t = CONFIG["hard_weight"], CONFIG["temperature"]
    for step in range(args.steps):
        x, y = make(48, gen)
        logits = student(x)
        loss = w * hard_loss(logits, y) + (1 - w) * soft_loss(logits, teacher(x), t)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():.6f}")

    x, y = make(300, torch.Generator().manual_seed(777))
    student.eval()
    with torch.no_grad():
        acc = (student(x).argmax(-1) == y).float().mean().item()
    print(f"EVIDENCE student_tag_acc={acc:.4f}")


if __name__ == "__main__":
    main()
