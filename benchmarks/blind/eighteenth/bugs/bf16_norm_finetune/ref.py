"""Fine-tune a small pretrained LM on a shifted source, under bfloat16 autocast."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 32
LENGTH = 20


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * (x.float() * scale).to(x.dtype)


class Block(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.norm = RMSNorm(dim)
        self.up = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        return x + self.down(F.silu(self.up(self.norm(x))))


class LM(nn.Module):
    """Bigram-window model: the last two tokens, then residual MLP blocks."""

    def __init__(self, dim=48, hidden=96, layers=2):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.mix = nn.Linear(2 * dim, dim, bias=False)
        self.blocks = nn.ModuleList(Block(dim, hidden) for _ in range(layers))
        self.norm = RMSNorm(dim)
        self.lm_head = nn.Linear(dim, VOCAB, bias=False)

    def forward(self, ids):
        e = self.embed(ids)
        prev = F.pad(e, (0, 0, 1, 0))[:, :-1]
        x = self.mix(torch.cat([prev, e], -1))
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.norm(x))


def build_source(seed, base=None, mix=0.0):
    gen = torch.Generator().manual_seed(seed)
    table = torch.randn(VOCAB, VOCAB, generator=gen) * 2.0
    return table if base is None else (1 - mix) * base + mix * table


def sample(table, n, gen):
    ids = torch.randint(VOCAB, (n, 1), generator=gen)
    for _ in range(LENGTH):
        ids = torch.cat([ids, torch.multinomial(table[ids[:, -1]].softmax(-1), 1, generator=gen)], 1)
    return ids


def loss_fn(model, ids):
    logits = model(ids[:, :-1])
    return F.cross_entropy(logits.float().reshape(-1, VOCAB), ids[:, 1:].reshape(-1))


def pretrain(table, gen, steps=80):
    model = LM()
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.0)
    for step in range(steps):
        loss = loss_fn(model, sample(table, 48, gen))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 40 == 0:
            print(f"pretrain {step} loss {loss.item():.4f}")
    return model


def finetune(model, table, gen, args):
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=0.0)
    for step in range(args.steps):
        scale = min(1.0, (step + 1) / 10) * (0.1 + 0.45 * (1 + math.cos(math.pi * step / args.steps)))
        for group in opt.param_groups:
            group["lr"] = args.lr * scale
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = loss_fn(model, sample(table, 48, gen))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"finetune {step} loss {loss.item():.4f}")


@torch.no_grad()
def evaluate(model, ids):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return loss_fn(model, ids).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-4)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    base = build_source(1)
    target = build_source(2, base, mix=0.5)
    val = sample(target, 256, torch.Generator().manual_seed(42))

    model = pretrain(base, gen)
    norms = {n: p.detach().clone().float() for n, p in model.named_parameters() if "norm" in n}
    print(f"before fine-tuning val loss {evaluate(model, val):.4f}")
    finetune(model, target, gen, args)

    moved = [(p.detach().float() - norms[n]).abs().gt(0.01).float() for n, p in model.named_parameters() if n in norms]
    share = torch.cat(moved).mean().item()
    print(f"EVIDENCE val_loss={evaluate(model, val):.4f} norm_weights_moved={share:.3f}")


if __name__ == "__main__":
    main()
