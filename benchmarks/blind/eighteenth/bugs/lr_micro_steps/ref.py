"""Pretrain a small causal LM with gradient accumulation and a warmup-cosine schedule."""
import argparse
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    vocab: int = 28
    block: int = 24
    dim: int = 48
    heads: int = 4
    layers: int = 2
    micro_batch: int = 8
    accumulate: int = 4
    grad_clip: float = 1.0


class Attention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.heads = cfg.heads
        self.qkv = nn.Linear(cfg.dim, 3 * cfg.dim, bias=False)
        self.proj = nn.Linear(cfg.dim, cfg.dim, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(b, t, d))


class GPT(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.wte = nn.Embedding(cfg.vocab, cfg.dim)
        self.wpe = nn.Embedding(cfg.block, cfg.dim)
        self.attn = nn.ModuleList(Attention(cfg) for _ in range(cfg.layers))
        self.ln_1 = nn.ModuleList(nn.LayerNorm(cfg.dim) for _ in range(cfg.layers))
        self.ln_2 = nn.ModuleList(nn.LayerNorm(cfg.dim) for _ in range(cfg.layers))
        self.mlp = nn.ModuleList(
            nn.Sequential(nn.Linear(cfg.dim, 4 * cfg.dim), nn.GELU(), nn.Linear(4 * cfg.dim, cfg.dim))
            for _ in range(cfg.layers))
        self.ln_f = nn.LayerNorm(cfg.dim)
        self.lm_head = nn.Linear(cfg.dim, cfg.vocab, bias=False)

    def forward(self, idx):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        for attn, mlp, n1, n2 in zip(self.attn, self.mlp, self.ln_1, self.ln_2):
            x = x + attn(n1(x))
            x = x + mlp(n2(x))
        return self.lm_head(self.ln_f(x))


class TemplateText:
    """Sequences that repeat a random phrase: the model has to look back to continue it."""

    def __init__(self, cfg, seed):
        self.cfg = cfg
        self.gen = torch.Generator().manual_seed(seed)
        self.bigram = (torch.randn(cfg.vocab, cfg.vocab, generator=torch.Generator().manual_seed(3)) * 1.5).softmax(-1)

    def batch(self, n):
        period = 8
        phrase = torch.randint(self.cfg.vocab, (n, 1), generator=self.gen)
        for _ in range(period - 1):
            phrase = torch.cat([phrase, torch.multinomial(self.bigram[phrase[:, -1]], 1, generator=self.gen)], 1)
        ids = phrase.repeat(1, self.cfg.block // period + 1)[:, :self.cfg.block + 1]
        return ids[:, :-1], ids[:, 1:]


def lr_at(step, total, peak, warmup=6, floor=0.0):
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = min(1.0, (step - warmup) / max(1, total - warmup))
    return floor + 0.5 * (peak - floor) * (1.0 + math.cos(math.pi * progress))


def param_groups(model, weight_decay):
    decay = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


def train(model, data, cfg, args):
    opt = torch.optim.AdamW(param_groups(model, 0.05), lr=args.lr, betas=(0.9, 0.95))
    micro = 0
    running = 0.0
    for update in range(args.steps):
        lr = lr_at(update, args.steps, args.lr)
        for group in opt.param_groups:
            group["lr"] = lr
        for _ in range(cfg.accumulate):
            x, y = data.batch(cfg.micro_batch)
            loss = F.cross_entropy(model(x).reshape(-1, cfg.vocab), y.reshape(-1))
            (loss / cfg.accumulate).backward()
            running += loss.item() / cfg.accumulate
            micro += 1
        nn.utils.clip_grad_norm_(model.parameters(), cfg.grad_clip)
        opt.step()
        opt.zero_grad(set_to_none=True)
        if update % 15 == 0 or update == args.steps - 1:
            print(f"update {update} batches {micro} loss {running:.4f}")
        running = 0.0


@torch.no_grad()
def validate(model, cfg):
    model.eval()
    x, y = TemplateText(cfg, seed=31337).batch(256)
    logits = model(x)
    loss = F.cross_entropy(logits.reshape(-1, cfg.vocab), y.reshape(-1)).item()
    repeat_acc = logits[:, 8:].argmax(-1).eq(y[:, 8:]).float().mean().item()
    return loss, repeat_acc


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=80)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    cfg = Config()
    model = GPT(cfg)
    train(model, TemplateText(cfg, args.seed), cfg, args)
    loss, acc = validate(model, cfg)
    print(f"EVIDENCE val_loss={loss:.4f} repeat_acc={acc:.3f}")


if __name__ == "__main__":
    main()
