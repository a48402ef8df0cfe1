"""Supervised fine-tuning of a small recurrent LM on instruction / answer pairs.

Two kinds of instructions live in the data: yes/no questions with a one-token answer and
"spell" requests with long answers. Batches are grouped by length to save padding.
"""
import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, EOS, ASK, SPELL, YES, NO = range(6)
FIRST = 6
VOCAB = 26
IGNORE = -100


def make_example(rng):
    if rng.random() < 0.5:
        words = [rng.randrange(FIRST, VOCAB) for _ in range(3)]
        answer = [YES if rng.random() < 0.55 else NO]
        return [ASK] + words, answer
    start = rng.randrange(FIRST, VOCAB)
    step = rng.randrange(1, 4)
    length = rng.randrange(14, 22)
    seq = [FIRST + (start - FIRST + step * i) % (VOCAB - FIRST) for i in range(length)]
    return [SPELL, seq[0], FIRST + step], seq[1:] + [EOS]


def collate(examples):
    width = max(len(p) + len(a) for p, a in examples)
    ids = torch.full((len(examples), width), PAD)
    labels = torch.full((len(examples), width), IGNORE)
    for i, (prompt, answer) in enumerate(examples):
        full = prompt + answer
        ids[i, :len(full)] = torch.tensor(full)
        labels[i, len(prompt):len(full)] = torch.tensor(answer)
    return ids, labels


class Lm(nn.Module):
    def __init__(self, dim=96):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        return self.head(h)


def length_grouped_batches(data, size, rng):
    order = list(range(len(data)))
    rng.shuffle(order)
    order.sort(key=lambda i: len(data[i][1]) // 8)
    batches = [order[i:i + size] for i in range(0, len(order) - size + 1, size)]
    rng.shuffle(batches)
    for b in batches:
        yield collate([data[i] for i in b])


def endless(data, size, rng):
    while True:
        yield from length_grouped_batches(data, size, rng)


def token_loss(model, ids, labels, reduction):
    logits = model(ids)[:, :-1]
    target = labels[:, 1:]
    return F.cross_entropy(logits.reshape(-1, VOCAB), target.reshape(-1),
                           ignore_index=IGNORE, reduction=reduction)


@torch.no_grad()
def evaluate(model, data):
    model.eval()
    total, count, right, spelled = 0.0, 0, 0, 0
    for i in range(0, len(data), 64):
        ids, labels = collate(data[i:i + 64])
        total += token_loss(model, ids, labels, "sum").item()
        count += (labels[:, 1:] != IGNORE).sum().item()
        pred = model(ids)[:, :-1].argmax(-1)
        keep = (labels[:, 1:] != IGNORE) & (ids[:, :1] == SPELL)
        right += (pred[keep] == labels[:, 1:][keep]).sum().item()
        spelled += keep.sum().item()
    model.train()
    return total / count, right / spelled


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=70)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--micro", type=int, default=16)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)

    train = [make_example(rng) for _ in range(2000)]
    valid = [make_example(rng) for _ in range(300)]
    model = Lm()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    stream = endless(train, args.micro, rng)

    for step in range(args.steps):
        window = [next(stream) for _ in range(args.accum)]
        n_tokens = sum((labels[:, 1:] != IGNORE).sum() for _, labels in window)
        optimizer.zero_grad()
        running = 0.0
        for ids, labels in window:
            loss = token_loss(model, ids, labels, "sum") / n_tokens
            loss.backward()
            running += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 10 == 0 or step == args.steps - 1:
            print(f"step {step} loss {running:.4f}")

    nll, acc = evaluate(model, valid)
    print(f"EVIDENCE valid_token_nll={nll:.4f} spell_token_acc={acc:.4f}")


if __name__ == "__main__":
    main()
