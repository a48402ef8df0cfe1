"""Associative recall with a two-layer causal transformer."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

KEYS = 8
VALUES = 8
PAIRS = 6
VOCAB = KEYS + VALUES
LENGTH = 2 * PAIRS + 1


class CausalSelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.head_dim = dim // heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).split(d, dim=2)
        q = q.view(b, t, self.heads, self.head_dim).transpose(1, 2)
        k = k.view(b, t, self.heads, self.head_dim).transpose(1, 2)
        v = v.view(b, t, self.heads, self.head_dim).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * self.head_dim ** -0.5
        future = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        att = att.masked_fill(future, float("-inf"))
        y = att.softmax(dim=-1) @ v
        return self.proj(y.transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = CausalSelfAttention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class Model(nn.Module):
    def __init__(self, dim=64, heads=4, layers=2):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.prev = nn.Embedding(VOCAB + 1, dim)
        self.pos = nn.Embedding(LENGTH, dim)
        self.blocks = nn.ModuleList([Block(dim, heads) for _ in range(layers)])
        self.ln = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        shifted = F.pad(ids, (1, 0), value=VOCAB)[:, :-1]
        x = self.tok(ids) + self.prev(shifted) + self.pos(torch.arange(ids.size(1)))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln(x))


def recall_batch(n, gen):
    keys = torch.rand(n, KEYS, generator=gen).argsort(1)[:, :PAIRS]
    values = KEYS + torch.randint(0, VALUES, (n, PAIRS), generator=gen)
    seq = torch.stack([keys, values], dim=2).view(n, 2 * PAIRS)
    ask = torch.randint(0, PAIRS, (n, 1), generator=gen)
    ids = torch.cat([seq, keys.gather(1, ask)], dim=1)
    return ids, values.gather(1, ask).squeeze(1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=120)
    ap.add_argument("--batch", type=int, default=96)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = Model()
    decay = [p for p in model.parameters() if p.ndim >= 2]
    rest = [p for p in model.parameters() if p.ndim < 2]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.05},
                             {"params": rest, "weight_decay": 0.0}], lr=args.lr)
    warmup = 10
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / warmup))
    for step in range(args.steps):
        ids, answer = recall_batch(args.batch, gen)
        loss = F.cross_entropy(model(ids)[:, -1], answer)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        ids, answer = recall_batch(1000, gen)
        acc = (model(ids)[:, -1].argmax(-1) == answer).float().mean().item()
    print(f"EVIDENCE recall_acc={acc:.4f}")


if __name__ == "__main__":
    main()
