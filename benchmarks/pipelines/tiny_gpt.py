"""A character GPT on docstrings: AdamW with two groups, warm-up, clipping, one tensor for embedding and head."""

import argparse
import math
import textwrap
import threading

import torch
import torch.nn as nn
import torch.nn.functional as F

from options import options

BLOCK, BATCH = 32, 16


class Attention(nn.Module):
    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.heads = heads
        self.key, self.query, self.value = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.proj = nn.Linear(dim, dim)
        self.attn_drop, self.resid_drop = nn.Dropout(dropout), nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(BLOCK, BLOCK))[None, None])

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (f(x).view(b, t, self.heads, c // self.heads).transpose(1, 2) for f in (self.query, self.key, self.value))
        att = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
        att = att.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        att = self.attn_drop(F.softmax(att, dim=-1))
        return self.resid_drop(self.proj((att @ v).transpose(1, 2).reshape(b, t, c)))


class Block(nn.Module):
    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = Attention(dim, heads, dropout)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim), nn.Dropout(dropout))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocab, dim, layers=2, heads=4, dropout=0.1):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, dim), nn.Embedding(BLOCK, dim)
        self.blocks = nn.Sequential(*[Block(dim, heads, dropout) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.apply(self.init_weights)
        self.tok.weight = self.head.weight

    @staticmethod
    def init_weights(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, idx, targets=None):
        x = self.tok(idx) + self.pos(torch.arange(idx.shape[1]))
        logits = self.head(self.ln_f(self.blocks(x)))
        loss = None if targets is None else F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        prompt = idx.shape[1]
        for _ in range(max_new_tokens):
            logits, _ = self(idx[:, -BLOCK:])
            probs = F.softmax(logits[:, -1, :], dim=-1)
            idx = torch.cat([idx, torch.multinomial(probs, 1)], dim=1)
        return idx[:, prompt:]


def get_batch(data):
    start = torch.randint(len(data) - BLOCK - 1, (BATCH,))
    x = torch.stack([data[i : i + BLOCK] for i in start])
    y = torch.stack([data[i + 1 : i + BLOCK + 1] for i in start])
    return x, y


@torch.no_grad()
def estimate_loss(model, data, batches=3):
    model.eval()
    loss = sum(model(*get_batch(data))[1].item() for _ in range(batches)) / batches
    model.train()
    return loss


def lr_at(step, warmup, total, peak):
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * (0.1 + 0.45 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup))))


def main():
    args = options(lr=3e-3, width=32, steps=40, seed=1337)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    text = "\n".join(str(m.__doc__) for m in (argparse, textwrap, threading, threading.Condition, argparse.Action))
    chars = sorted(set(text))
    data = torch.tensor([chars.index(c) for c in text])
    train_data, val_data = data[: int(0.85 * len(data))], data[int(0.85 * len(data)) - BLOCK :]

    model = GPT(len(chars), args.width)
    params = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in params if p.dim() >= 2], "weight_decay": 0.1},
        {"params": [p for p in params if p.dim() < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=args.lr, betas=(0.9, 0.95))
    for step in range(args.steps):
        for group in optimizer.param_groups:
            group["lr"] = lr_at(step, 5, args.steps, args.lr)
        if step % 10 == 0:
            print(f"step {step}: val loss {estimate_loss(model, val_data):.3f}")
        _, loss = model(*get_batch(train_data))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(f"loss {loss.item():.3f}, val loss {estimate_loss(model, val_data):.3f}")
    model.eval()
    sample = model.generate(torch.zeros(1, 1, dtype=torch.long), max_new_tokens=24)
    print(repr("".join(chars[i] for i in sample[0].tolist())))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
