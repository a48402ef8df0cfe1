"""Character-level GRU language model on small generated documents."""
import argparse
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

NAMES = ["anna", "bert", "carl", "dora", "emil", "frida"]
VERBS = ["sees", "likes", "calls", "helps", "paints"]
THINGS = ["a cat", "the dog", "a boat", "the old house", "a red kite"]


def write_documents(rng, count, sentences):
    docs = []
    for _ in range(count):
        who = rng.choice(NAMES)
        parts = []
        for _ in range(sentences):
            parts.append(f"{who} {rng.choice(VERBS)} {rng.choice(THINGS)}.")
        docs.append(" ".join(parts))
    return docs


class Corpus:
    def __init__(self, docs, vocab, ctx):
        self.ctx = ctx
        self.length = min(len(d) for d in docs)
        table = {c: i for i, c in enumerate(vocab)}
        self.ids = np.array([[table[c] for c in d[: self.length]] for d in docs])

    def sample(self, rng, batch):
        span = self.length - self.ctx - 1
        rows = []
        for _ in range(batch):
            doc = rng.integers(len(self.ids))
            off = rng.integers(span + 1)
            rows.append(self.ids[doc, off : off + self.ctx + 1])
        chunk = torch.from_numpy(np.stack(rows))
        return chunk[:, :-1], chunk[:, 1:]


class CharModel(nn.Module):
    def __init__(self, vocab, dim=32, hidden=64):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        return self.out(h)


def nll(model, x, y):
    logits = model(x)
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=8e-3)
    ap.add_argument("--steps", type=int, default=50)
    ap.add_argument("--batch", type=int, default=24)
    ap.add_argument("--ctx", type=int, default=32)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    docs = write_documents(np.random.default_rng(1234), 80, 8)
    vocab = sorted(set("".join(docs)))
    train = Corpus(docs[:64], vocab, args.ctx)
    valid = Corpus(docs[64:], vocab, args.ctx)

    model = CharModel(len(vocab))
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    rng = np.random.default_rng(args.seed)
    for step in range(args.steps):
        x, y = train.sample(rng, args.batch)
        loss = nll(model, x, y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        if step % 10 == 0 or step + 1 == args.steps:
            print(f"step {step} loss {loss.item():.6f}")

    model.eval()
    with torch.no_grad():
        x, y = valid.sample(np.random.default_rng(99), 128)
        bits = nll(model, x, y).item() / math.log(2)
    print(f"EVIDENCE valid_bits_per_char={bits:.4f}")


if __name__ == "__main__":
    main()
