"""Instruction tuning with length-bucketed micro-batches and gradient accumulation."""
import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

IGNORE = -100
N_SYMBOLS = 16
SHORT, LONG, SEP = N_SYMBOLS, N_SYMBOLS + 1, N_SYMBOLS + 2
VOCAB = N_SYMBOLS + 3
MAX_LEN = 48


class Task:
    """Short tasks answer with one (rather arbitrary) symbol, long tasks continue a chain."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        order = list(range(N_SYMBOLS))
        random.Random(3).shuffle(order)
        self.chain = order

    def short(self):
        a = self.rng.randrange(N_SYMBOLS)
        answer = (a + 1) % N_SYMBOLS if self.rng.random() < 0.3 else self.rng.randrange(N_SYMBOLS)
        return [SHORT, a, SEP], [answer]

    def long(self):
        a = self.rng.randrange(N_SYMBOLS)
        b = self.rng.randrange(N_SYMBOLS)
        answer, cur = [], a
        for _ in range(self.rng.randrange(24, 40)):
            cur = (self.chain[cur] + b) % N_SYMBOLS
            answer.append(cur)
        return [LONG, b, a, SEP], answer

    def micro_batches(self, count, size):
        """Bucketed by length, as a group_by_length sampler gives them."""
        out = []
        for i in range(count):
            make = self.long if i == 0 else self.short
            out.append(collate([make() for _ in range(size)]))
        self.rng.shuffle(out)
        return out


def collate(examples):
    width = max(len(p) + len(a) for p, a in examples)
    ids = torch.zeros(len(examples), width, dtype=torch.long)
    labels = torch.full((len(examples), width), IGNORE)
    for i, (prompt, answer) in enumerate(examples):
        ids[i, : len(prompt) + len(answer)] = torch.tensor(prompt + answer)
        labels[i, len(prompt) : len(prompt) + len(answer)] = torch.tensor(answer)
    return ids, labels


class Net(nn.Module):
    def __init__(self, dim=64, heads=4, layers=2):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.pos = nn.Embedding(MAX_LEN, dim)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, heads, 3 * dim, dropout=0.0, activation="gelu",
                                       batch_first=True, norm_first=True) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        t = ids.size(1)
        causal = nn.Transformer.generate_square_subsequent_mask(t)
        h = self.tok(ids) + self.pos(torch.arange(t))
        for layer in self.layers:
            h = layer(h, src_mask=causal, is_causal=True)
        return self.out(self.norm(h))


def token_losses(model, ids, labels):
    logits = model(ids)[:, :-1]
    target = labels[:, 1:]
    loss = F.cross_entropy(logits.transpose(1, 2), target, ignore_index=IGNORE, reduction="sum")
    return loss, (target != IGNORE).sum()


def train_step(model, optimizer, micro_batches, max_norm):
    total_tokens = sum((labels[:, 1:] != IGNORE).sum() for _, labels in micro_batches)
    reported = 0.0
    optimizer.zero_grad()
    for ids, labels in micro_batches:
        loss_sum, n_tokens = token_losses(model, ids, labels)
        loss = loss_sum / total_tokens
        loss.backward()
        reported += loss.item()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return reported


@torch.no_grad()
def evaluate(model, seed):
    task = Task(seed)
    total, count = 0.0, 0
    for ids, labels in task.micro_batches(4, 64):
        loss, n = token_losses(model, ids, labels)
        total += loss.item()
        count += n.item()
    return total / count


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=90)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--micro_batch", type=int, default=12)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    task = Task(args.seed)
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    for step in range(args.steps):
        loss = train_step(model, optimizer, task.micro_batches(args.accum, args.micro_batch), 1.0)
        if step % 15 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss:.4f}")
    print(f"EVIDENCE val_loss_per_token={evaluate(model, args.seed + 99):.4f}")


if __name__ == "__main__":
    main()
