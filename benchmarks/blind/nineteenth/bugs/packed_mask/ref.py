"""Packed pretraining on many short documents; each document starts with a language tag."""
import argparse
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


@dataclass
class Config:
    n_lang: int = 6
    n_words: int = 16
    row_len: int = 96
    dim: int = 64
    heads: int = 4
    layers: int = 2

    @property
    def vocab(self):
        return self.n_lang + self.n_words


class Corpus:
    def __init__(self, cfg, seed):
        self.cfg = cfg
        rules = np.random.default_rng(1234)
        self.rule = np.stack([rules.permutation(cfg.n_words) for _ in range(cfg.n_lang)])
        self.rng = np.random.default_rng(seed)

    def document(self):
        lang = self.rng.integers(self.cfg.n_lang)
        word = self.rng.integers(self.cfg.n_words)
        doc = [lang]
        for _ in range(self.rng.integers(8, 20)):
            doc.append(self.cfg.n_lang + word)
            word = self.rule[lang, word] if self.rng.random() < 0.95 else self.rng.integers(self.cfg.n_words)
        return doc

    def packed_row(self):
        ids, pos = [], []
        while len(ids) < self.cfg.row_len:
            doc = self.document()
            ids += doc
            pos += range(len(doc))
        return ids[: self.cfg.row_len], pos[: self.cfg.row_len]

    def packed_batch(self, size):
        rows = [self.packed_row() for _ in range(size)]
        input_ids = torch.tensor(np.array([r[0] for r in rows]))
        position_ids = torch.tensor(np.array([r[1] for r in rows]))
        return {
            "input_ids": input_ids,
            "position_ids": position_ids,
            "attention_mask": torch.ones_like(input_ids),
        }


def packed_segments(position_ids):
    """Segment index of every token: a new segment starts where the position falls back."""
    start = torch.zeros_like(position_ids)
    start[:, 1:] = (position_ids[:, 1:] != position_ids[:, :-1] + 1).long()
    return start.cumsum(-1)


def build_attention_bias(input_ids, position_ids=None, attention_mask=None):
    t = input_ids.size(1)
    allowed = torch.ones(t, t, dtype=torch.bool).tril()[None]
    if attention_mask is not None:
        allowed = allowed & attention_mask[:, None, :].bool()
    if position_ids is not None:
        seg = packed_segments(position_ids)
        allowed = allowed & (seg[:, :, None] == seg[:, None, :])
    return allowed[:, None]


class Layer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.norm_a, self.norm_b = nn.RMSNorm(cfg.dim), nn.RMSNorm(cfg.dim)
        self.qkv = nn.Linear(cfg.dim, cfg.dim * 3, bias=False)
        self.out = nn.Linear(cfg.dim, cfg.dim, bias=False)
        self.up = nn.Linear(cfg.dim, cfg.dim * 4, bias=False)
        self.down = nn.Linear(cfg.dim * 4, cfg.dim, bias=False)

    def forward(self, h, allowed):
        b, t, d = h.shape
        q, k, v = (z.view(b, t, self.cfg.heads, -1).transpose(1, 2) for z in self.qkv(self.norm_a(h)).chunk(3, -1))
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        h = h + self.out(a.transpose(1, 2).reshape(b, t, d))
        return h + self.down(F.silu(self.up(self.norm_b(h))))


class PackedLM(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embed = nn.Embedding(cfg.vocab, cfg.dim)
        self.pos = nn.Embedding(32, cfg.dim)
        self.layers = nn.ModuleList([Layer(cfg) for _ in range(cfg.layers)])
        self.norm = nn.RMSNorm(cfg.dim)
        self.head = nn.Linear(cfg.dim, cfg.vocab, bias=False)

    def forward(self, input_ids, position_ids=None, attention_mask=None):
        allowed = build_attention_bias(input_ids, position_ids, attention_mask)
        if position_ids is None:
            position_ids = torch.arange(input_ids.size(1))[None]
        h = self.embed(input_ids) + self.pos(position_ids)
        for layer in self.layers:
            h = layer(h, allowed)
        return self.head(self.norm(h))


def packed_loss(model, batch):
    logits = model(**batch)[:, :-1]
    target = batch["input_ids"][:, 1:].clone()
    target[batch["position_ids"][:, 1:] == 0] = -100
    return F.cross_entropy(logits.transpose(1, 2), target)


@torch.no_grad()
def single_document_accuracy(model, cfg, n=150):
    corpus = Corpus(cfg, seed=999)
    hit = total = 0
    for _ in range(n):
        ids = torch.tensor(corpus.document())[None]
        pred = model(ids)[:, 1:-1].argmax(-1)
        hit += (pred == ids[:, 2:]).sum().item()
        total += pred.numel()
    return hit / total


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=100)
    ap.add_argument("--rows", type=int, default=16)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    cfg = Config()
    corpus = Corpus(cfg, args.seed)
    model = PackedLM(cfg)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95))
    for step in range(1, args.steps + 1):
        loss = packed_loss(model, corpus.packed_batch(args.rows))
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        if step % 20 == 0:
            print(f"[{step}/{args.steps}] loss={loss.item():.4f}")
    print(f"EVIDENCE single_doc_accuracy={single_document_accuracy(model, cfg):.4f} last_loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
