"""Domain adaptation of a small GPT: short base training on one dialect, then a low-rate
fine-tuning on a second one in bfloat16 mixed precision (CPU autocast)."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2)
                   for z in self.qkv(self.ln1(x)).chunk(3, dim=-1))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln2(x))


class MiniGPT(nn.Module):
    def __init__(self, vocab, d=64, layers=2, heads=4, ctx=32):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(ctx, d)
        self.blocks = nn.ModuleList(Block(d, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, vocab)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1]))
        for blk in self.blocks:
            x = blk(x)
        return self.head(self.norm(x))


class Dialect:
    """Sparse Markov language; the second dialect rewires part of the successors of the first."""

    def __init__(self, vocab, gen, parent=None, rewired=0.0):
        self.vocab, self.gen = vocab, gen
        self.succ = torch.randint(0, vocab, (vocab, 3), generator=gen)
        if parent is not None:
            keep = torch.rand(vocab, generator=gen) >= rewired
            self.succ[keep] = parent.succ[keep]
        self.probs = torch.tensor([0.8, 0.15, 0.05])

    def batch(self, n, length):
        ids = torch.empty(n, length + 1, dtype=torch.long)
        ids[:, 0] = torch.randint(0, self.vocab, (n,), generator=self.gen)
        for t in range(length):
            pick = torch.multinomial(self.probs, n, replacement=True, generator=self.gen)
            ids[:, t + 1] = self.succ[ids[:, t], pick]
        return ids[:, :-1], ids[:, 1:]


def lm_loss(logits, y):
    return F.cross_entropy(logits.float().flatten(0, 1), y.flatten())


@torch.no_grad()
def evaluate(model, batches):
    model.eval()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = sum(lm_loss(model(x), y).item() for x, y in batches) / len(batches)
    model.train()
    return loss


def pretrain(model, data, steps):
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(steps):
        x, y = data.batch(16, 32)
        loss = lm_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"base model: loss {loss.item():.3f}")
    return copy.deepcopy(model.state_dict())


def finetune(model, data, valid, lr, steps):
    opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01, betas=(0.9, 0.98))
    warm = max(1, steps // 20)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / warm) * (1 - 0.9 * s / steps))
    for step in range(1, steps + 1):
        x, y = data.batch(16, 32)
        opt.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = lm_loss(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        if step % 30 == 0:
            print(f"ft {step}: train {loss.item():.3f} valid {evaluate(model, valid):.3f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-4)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    base = Dialect(32, gen)
    target = Dialect(32, gen, parent=base, rewired=0.35)
    valid = [target.batch(32, 32) for _ in range(4)]

    weights = pretrain(MiniGPT(32), base, 80)
    model = MiniGPT(32)
    model.load_state_dict(weights)
    model = model.to(torch.bfloat16)
    before = evaluate(model, valid)
    start = [p.detach().clone() for p in model.parameters()]
    finetune(model, target, valid, args.lr, args.steps)
    after = evaluate(model, valid)
    moved = sum((p != s).sum().item() for p, s in zip(model.parameters(), start))
    total = sum(s.numel() for s in start)
    print(f"EVIDENCE valid_before={before:.4f} valid_after={after:.4f} weights_changed={moved / total:.4f}")


if __name__ == "__main__":
    main()
