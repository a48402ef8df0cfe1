"""Small character GPT on generated sums: gradient accumulation, warm-up and cosine, bfloat16 autocast."""
import argparse
import math
import random
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.nn import functional as F


@dataclass
class GPTConfig:
    vocab_size: int
    block_size: int = 24
    n_layer: int = 2
    n_head: int = 4
    n_embd: int = 48
    dropout: float = 0.05


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(cfg.n_embd), nn.LayerNorm(cfg.n_embd)
        self.attn = nn.MultiheadAttention(cfg.n_embd, cfg.n_head, dropout=cfg.dropout, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(cfg.n_embd, 4 * cfg.n_embd), nn.GELU(),
                                 nn.Linear(4 * cfg.n_embd, cfg.n_embd), nn.Dropout(cfg.dropout))
        self.register_buffer("mask", torch.triu(torch.ones(cfg.block_size, cfg.block_size, dtype=torch.bool), 1))

    def forward(self, x):
        t = x.size(1)
        h = self.ln_1(x)
        x = x + self.attn(h, h, h, attn_mask=self.mask[:t, :t], need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.wte, self.wpe = nn.Embedding(cfg.vocab_size, cfg.n_embd), nn.Embedding(cfg.block_size, cfg.n_embd)
        self.h = nn.ModuleList(Block(cfg) for _ in range(cfg.n_layer))
        self.ln_f = nn.LayerNorm(cfg.n_embd)
        self.lm_head = nn.Linear(cfg.n_embd, cfg.vocab_size, bias=False)

    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        loss = None if targets is None else F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, n, temperature=0.7):
        for _ in range(n):
            logits = self(idx[:, -self.cfg.block_size:])[0][:, -1].float()
            idx = torch.cat([idx, torch.multinomial(F.softmax(logits / temperature, -1), 1)], 1)
        return idx


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=8e-3)
    p.add_argument("--steps", type=int, default=50)
    p.add_argument("--accum", type=int, default=2)
    args = p.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = random.Random(args.seed)
    text = "".join(f"{a}+{b}={a + b};" for a, b in ((rng.randint(0, 9), rng.randint(0, 9)) for _ in range(8000)))
    chars = sorted(set(text))
    data = torch.tensor([chars.index(c) for c in text])
    n = int(0.9 * len(data))
    splits = {"train": data[:n], "val": data[n:]}
    cfg = GPTConfig(vocab_size=len(chars))
    model = GPT(cfg)
    decay = [q for q in model.parameters() if q.dim() >= 2]
    no_decay = [q for q in model.parameters() if q.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": no_decay, "weight_decay": 0.0}],
                                  lr=args.lr, betas=(0.9, 0.95))
    warmup = max(1, args.steps // 10)
    schedule = lambda it: (it + 1) / warmup if it < warmup else \
        0.1 + 0.45 * (1 + math.cos(math.pi * (it - warmup) / max(1, args.steps - warmup)))
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, schedule)
    scaler = torch.amp.GradScaler("cpu", enabled=False)

    def get_batch(split, batch_size=8):
        source = splits[split]
        ix = torch.randint(len(source) - cfg.block_size - 1, (batch_size,)).tolist()
        return (torch.stack([source[i:i + cfg.block_size] for i in ix]),
                torch.stack([source[i + 1:i + 1 + cfg.block_size] for i in ix]))

    for it in range(args.steps):
        model.train()
        total = 0.0
        for _ in range(args.accum):
            x, y = get_batch("train")
            with torch.autocast("cpu", dtype=torch.bfloat16):
                _, loss = model(x, y)
            scaler.scale(loss / args.accum).backward()
            total += loss.item() / args.accum
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        scheduler.step()
        if (it + 1) % 10 == 0 or it == args.steps - 1:
            model.eval()
            with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
                val = sum(model(*get_batch("val"))[1].item() for _ in range(3)) / 3
            print(f"iter {it + 1}: train {total:.4f} val {val:.4f} lr {scheduler.get_last_lr()[0]:.2e}")
    start = torch.tensor([[chars.index(";")]])
    print("".join(chars[i] for i in model.generate(start, 24)[0].tolist()))


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
