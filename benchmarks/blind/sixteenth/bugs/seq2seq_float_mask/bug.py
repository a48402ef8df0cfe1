"""Encoder-decoder transformer that normalises written dates ("5 mar 1987" -> "1987-03-05")."""
import argparse
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
PAD, BOS, EOS = 0, 1, 2
CHARS = " -,0123456789abcdefghijklmnopqrstuvwxyz"
STOI = {c: i + 3 for i, c in enumerate(CHARS)}
VOCAB = len(CHARS) + 3


def random_date(rng):
    y, m, d = rng.randint(1950, 2029), rng.randint(1, 12), rng.randint(1, 28)
    mon = MONTHS[m - 1]
    src = f"{d} {mon} {y}" if rng.random() < 0.5 else f"{mon} {d}, {y}"
    return src, f"{y}-{m:02d}-{d:02d}"


def encode(s):
    return [STOI[c] for c in s]


def make_batch(rng, n):
    pairs = [random_date(rng) for _ in range(n)]
    src = [encode(s) + [EOS] for s, _ in pairs]
    tgt = [[BOS] + encode(t) + [EOS] for _, t in pairs]

    def pad(rows):
        width = max(map(len, rows))
        return torch.tensor([r + [PAD] * (width - len(r)) for r in rows])

    return pad(src), pad(tgt)


def causal_mask(size):
    """Ones above the diagonal: these positions may not be attended to."""
    return torch.triu(torch.ones(size, size), diagonal=1)


class DateTransformer(nn.Module):
    def __init__(self, d=64, heads=4, layers=1):
        super().__init__()
        self.d = d
        self.emb = nn.Embedding(VOCAB, d, padding_idx=PAD)
        self.pos = nn.Parameter(torch.randn(24, d) * 0.1)
        enc = nn.TransformerEncoderLayer(d, heads, 2 * d, dropout=0.0, batch_first=True, norm_first=True)
        dec = nn.TransformerDecoderLayer(d, heads, 2 * d, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(enc, layers, enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(dec, layers)
        self.norm = nn.LayerNorm(d)
        self.out = nn.Linear(d, VOCAB)

    def embed(self, ids):
        return self.emb(ids) * math.sqrt(self.d) * 0.25 + self.pos[: ids.shape[1]]

    def encode(self, src):
        pad = src == PAD
        return self.encoder(self.embed(src), src_key_padding_mask=pad), pad

    def decode(self, tgt_in, memory, mem_pad):
        mask = causal_mask(tgt_in.shape[1])
        h = self.decoder(self.embed(tgt_in), memory, tgt_mask=mask, memory_key_padding_mask=mem_pad)
        return self.out(self.norm(h))

    def forward(self, src, tgt_in):
        memory, pad = self.encode(src)
        return self.decode(tgt_in, memory, pad)

    @torch.no_grad()
    def translate(self, src, steps=10):
        memory, pad = self.encode(src)
        ys = torch.full((len(src), 1), BOS)
        for _ in range(steps):
            nxt = self.decode(ys, memory, pad)[:, -1].argmax(-1, keepdim=True)
            ys = torch.cat([ys, nxt], dim=1)
        return ys[:, 1:]


def seq_loss(logits, gold):
    return F.cross_entropy(logits.flatten(0, 1), gold.flatten(), ignore_index=PAD, label_smoothing=0.02)


@torch.no_grad()
def evaluate(model, src, tgt):
    model.eval()
    loss = seq_loss(model(src, tgt[:, :-1]), tgt[:, 1:]).item()
    hyp = model.translate(src)
    gold = tgt[:, 1:11]
    model.train()
    return loss, (hyp == gold).float().mean().item()


def noam(step, peak, warmup):
    return peak * min((step + 1) / warmup, math.sqrt(warmup / (step + 1)))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=150)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    val_src, val_tgt = make_batch(random.Random(10_000 + args.seed), 128)

    model = DateTransformer()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr, betas=(0.9, 0.98), eps=1e-9)
    running = 0.0
    for step in range(args.steps):
        for g in opt.param_groups:
            g["lr"] = noam(step, args.lr, 40)
        src, tgt = make_batch(rng, 64)
        logits = model(src, tgt[:, :-1])
        loss = seq_loss(logits, tgt[:, 1:])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        running = loss.item() if step == 0 else 0.95 * running + 0.05 * loss.item()
        if (step + 1) % 50 == 0:
            vl, acc = evaluate(model, val_src, val_tgt)
            print(f"{step + 1:4d} train {running:.3f} val {vl:.3f} char acc (free running) {acc:.3f}")

    vl, acc = evaluate(model, val_src, val_tgt)
    print(f"EVIDENCE teacher_forced_loss={vl:.4f} free_running_char_acc={acc:.4f}")


if __name__ == "__main__":
    main()
