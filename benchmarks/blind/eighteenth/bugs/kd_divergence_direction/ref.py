"""Token-level distillation of a small language model from a larger one (forward KL by default)."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 32
CONTEXT = 24


class MarkovText:
    """Second-order source: every pair of tokens has a handful of plausible successors."""

    def __init__(self, seed):
        gen = torch.Generator().manual_seed(seed)
        first = torch.randn(VOCAB, VOCAB, generator=gen) * 1.3
        second = torch.randn(VOCAB, VOCAB, generator=gen) * 1.3
        self.first, self.second = first, second

    def sample(self, n, gen):
        out = torch.randint(VOCAB, (n, 2), generator=gen)
        for _ in range(CONTEXT - 1):
            logits = self.first[out[:, -1]] + self.second[out[:, -2]]
            nxt = torch.multinomial(logits.softmax(-1), 1, generator=gen)
            out = torch.cat([out, nxt], 1)
        return out


class WindowLM(nn.Module):
    """Predicts the next token from the last two embeddings."""

    def __init__(self, dim, hidden):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.net = nn.Sequential(nn.Linear(2 * dim, hidden), nn.GELU(), nn.Linear(hidden, VOCAB))

    def forward(self, ids):
        e = self.emb(ids)
        prev = F.pad(e, (0, 0, 1, 0))[:, :-1]
        return self.net(torch.cat([prev, e], -1))


def divergence(student_logits, teacher_logits, mode):
    """Mean token divergence. 'forward' is KL(teacher || student), 'reverse' is KL(student || teacher)."""
    s_logp = F.log_softmax(student_logits, -1).flatten(0, 1)
    t_logp = F.log_softmax(teacher_logits, -1).flatten(0, 1)
    if mode == "forward":
        return F.kl_div(s_logp, t_logp, reduction="batchmean", log_target=True)
    if mode == "reverse":
        return F.kl_div(t_logp, s_logp, reduction="batchmean", log_target=True)
    raise ValueError(f"unknown divergence {mode!r}")


def batches(corpus, size, gen):
    while True:
        yield corpus[torch.randint(len(corpus), (size,), generator=gen)]


def train_teacher(data, steps=120):
    teacher = WindowLM(48, 160)
    opt = torch.optim.AdamW(teacher.parameters(), lr=4e-3)
    for step in range(steps):
        ids = next(data)
        logits = teacher(ids[:, :-1])
        loss = F.cross_entropy(logits[:, 1:].reshape(-1, VOCAB), ids[:, 2:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0:
            print(f"teacher {step} loss {loss.item():.4f}")
    return teacher.eval().requires_grad_(False)


@torch.no_grad()
def perplexity(model, ids):
    logits = model(ids[:, :-1])
    return F.cross_entropy(logits[:, 1:].reshape(-1, VOCAB), ids[:, 2:].reshape(-1)).exp().item()


@torch.no_grad()
def mean_entropy(model, ids):
    logp = model(ids).log_softmax(-1)
    return -(logp.exp() * logp).sum(-1).mean().item()


def distill(student, teacher, data, args):
    opt = torch.optim.AdamW(student.parameters(), lr=args.lr)
    for step in range(args.steps):
        ids = next(data)[:, :-1]
        with torch.no_grad():
            t_logits = teacher(ids)
        s_logits = student(ids)
        loss = divergence(s_logits[:, 1:], t_logits[:, 1:], args.divergence)
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        opt.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"distill {step} loss {loss.item():.4f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--steps", type=int, default=120)
    ap.add_argument("--divergence", choices=["forward", "reverse"], default="forward")
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 1)
    source = MarkovText(seed=7)
    val = source.sample(256, torch.Generator().manual_seed(99))

    data = batches(source.sample(3000, gen), 64, gen)

    teacher = train_teacher(data)
    student = WindowLM(6, 16)
    distill(student, teacher, data, args)
    print(f"teacher ppl {perplexity(teacher, val):.3f} entropy {mean_entropy(teacher, val):.3f}")
    print(f"EVIDENCE student_ppl={perplexity(student, val):.3f} student_entropy={mean_entropy(student, val):.3f}")


if __name__ == "__main__":
    main()
