"""Packed pretraining: several short leaflets share a row, attention stays inside of each."""
import argparse
from dataclasses import dataclass

import torch
from torch import nn
import torch.nn.functional as F


@dataclass
class Config:
    vocab: int = 30
    dim: int = 48
    heads: int = 4
    context: int = 64
    layers: int = 2


class Attention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.heads = cfg.heads
        self.qkv = nn.Linear(cfg.dim, 3 * cfg.dim)
        self.proj = nn.Linear(cfg.dim, cfg.dim)

    def forward(self, x, mask):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None])
        return self.proj(y.transpose(1, 2).reshape(b, n, d))


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(cfg.dim), nn.LayerNorm(cfg.dim)
        self.attn = Attention(cfg)
        self.mlp = nn.Sequential(nn.Linear(cfg.dim, 2 * cfg.dim), nn.GELU(), nn.Linear(2 * cfg.dim, cfg.dim))

    def forward(self, x, mask):
        x = x + self.attn(self.ln1(x), mask)
        return x + self.mlp(self.ln2(x))


class LeafletLM(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tok = nn.Embedding(cfg.vocab, cfg.dim)
        self.pos = nn.Embedding(cfg.context, cfg.dim)
        self.blocks = nn.ModuleList(Block(cfg) for _ in range(cfg.layers))
        self.head = nn.Linear(cfg.dim, cfg.vocab)

    def forward(self, ids, positions, doc_ids):
        x = self.tok(ids) + self.pos(positions)
        n = ids.size(1)
        causal = torch.ones(n, n, dtype=torch.bool).tril()
        same_doc = doc_ids[:, :, None] == doc_ids[:, None, :]
        mask = causal & same_doc
        for block in self.blocks:
            x = block(x, mask)
        return self.head(x)


def leaflet(gen, vocab):
    """A leaflet repeats its own secret step: token, step marker, then an arithmetic walk."""
    start, step = torch.randint(10, vocab, (1,), generator=gen).item(), torch.randint(1, 10, (1,), generator=gen).item()
    n = torch.randint(6, 14, (1,), generator=gen).item()
    return [step] + [10 + (start + i * step) % (vocab - 10) for i in range(n)]


def pack(gen, cfg):
    ids, positions, doc_ids, labels = [], [], [], []
    doc = 0
    while len(ids) < cfg.context:
        tokens = leaflet(gen, cfg.vocab)
        ids += tokens
        positions += range(len(tokens))
        doc_ids += [doc] * len(tokens)
        labels += tokens[1:] + [-100]
        doc += 1
    return [torch.tensor(x[: cfg.context]) for x in (ids, positions, doc_ids, labels)]


@torch.no_grad()
def prefix_delta(model, cfg, gen):
    """How far the logits of the last leaflet move when the tokens before it are replaced."""
    ids, positions, doc_ids, _ = [x[None] for x in pack(gen, cfg)]
    last = doc_ids == doc_ids.max()
    swapped = torch.where(last, ids, torch.randint(10, cfg.vocab, ids.shape, generator=gen))
    moved = model(ids, positions, doc_ids) - model(swapped, positions, doc_ids)
    return moved[last].abs().max().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=110)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    cfg = Config()
    model = LeafletLM(cfg)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        ids, positions, doc_ids, labels = map(torch.stack, zip(*(pack(gen, cfg) for _ in range(16))))
        logits = model(ids, positions, doc_ids)
        loss = F.cross_entropy(logits.view(-1, cfg.vocab), labels.view(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"step {step} loss {loss.item():.3f}")
    delta = sum(prefix_delta(model, cfg, gen) for _ in range(20)) / 20
    print(f"EVIDENCE loss={loss.item():.3f} prefix_delta={delta:.4f}")


if __name__ == "__main__":
    main()
