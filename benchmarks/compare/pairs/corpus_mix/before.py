"""Pre-train a character LM on a weighted mix of two corpora, packed with separators."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn import datasets

CONTEXT = 32


class Source:
    """Documents joined by a separator into one stream, cut in random windows."""

    def __init__(self, docs, table, sep):
        ids = []
        for d in docs:
            ids.extend(table[c] for c in d)
            ids.append(sep)
        self.stream = torch.tensor(ids)

    def windows(self, n, gen):
        starts = torch.randint(0, len(self.stream) - CONTEXT - 1, (n,), generator=gen).tolist()
        return torch.stack([self.stream[s:s + CONTEXT + 1] for s in starts])


class MixedLoader:
    def __init__(self, sources, weights, batch, seed):
        self.sources = sources
        self.weights = torch.tensor(weights)
        self.batch = batch
        self.gen = torch.Generator().manual_seed(seed)

    def next(self):
        pick = torch.multinomial(self.weights, self.batch, replacement=True, generator=self.gen)
        counts = torch.bincount(pick, minlength=len(self.sources)).tolist()
        parts = [s.windows(c, self.gen) for s, c in zip(self.sources, counts) if c]
        return torch.cat(parts)


class Lm(nn.Module):
    def __init__(self, vocab, dim=80):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, dim, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)
        nn.init.normal_(self.emb.weight, std=0.1)
        self.head.weight = self.emb.weight

    def forward(self, ids):
        return self.head(self.norm(self.rnn(self.emb(ids))[0]))


def documents():
    prose = [p for f in (datasets.load_iris, datasets.load_wine, datasets.load_diabetes)
             for p in f().DESCR.split("\n\n") if len(p) > 10]
    data = datasets.load_wine().data
    tables = ["; ".join(f"{v:g}" for v in row) for row in data]
    return prose, tables


def loss_on(model, block):
    return F.cross_entropy(model(block[:, :-1]).flatten(0, 1), block[:, 1:].flatten())


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--steps", type=int, default=90)
    ap.add_argument("--batch", type=int, default=16)
    args = ap.parse_args()
    torch.manual_seed(args.seed)

    prose, tables = documents()
    table = {c: i for i, c in enumerate(sorted(set("".join(prose + tables))))}
    sep = len(table)
    held = [Source(d[::5], table, sep) for d in (prose, tables)]
    sources = [Source([x for i, x in enumerate(d) if i % 5], table, sep) for d in (prose, tables)]
    loader = MixedLoader(sources, [0.5, 0.5], args.batch, args.seed)

    model = Lm(sep + 1)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=0.0)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=args.steps, pct_start=0.15)
    for step in range(args.steps):
        loss = loss_on(model, loader.next())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        if step % 15 == 0:
            print(f"step {step} loss {loss.item():.4f}")

    model.eval()
    gen = torch.Generator().manual_seed(5)
    with torch.no_grad():
        prose_loss, table_loss = (loss_on(model, s.windows(64, gen)).item() for s in held)
    print(f"EVIDENCE prose_loss={prose_loss:.4f} table_loss={table_loss:.4f}")


if __name__ == "__main__":
    main()
