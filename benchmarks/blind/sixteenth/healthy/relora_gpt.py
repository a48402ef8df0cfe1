"""ReLoRA pre-training of a small LM: short full-rank warm start, then low-rank cycles. At the end of a
cycle the adapters are merged into the frozen weights, re-initialised, the optimizer moments are
cleared and the learning rate warms up again."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class ReLoRALinear(nn.Module):
    def __init__(self, lin, rank, alpha=8.0):
        super().__init__()
        self.base = lin
        self.base.weight.requires_grad_(False)
        self.a = nn.Parameter(torch.empty(rank, lin.in_features))
        self.b = nn.Parameter(torch.zeros(lin.out_features, rank))
        self.scale = alpha / rank
        self.reset()

    @torch.no_grad()
    def reset(self):
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))
        self.b.zero_()

    @torch.no_grad()
    def merge(self):
        self.base.weight += self.scale * self.b @ self.a
        self.reset()

    def forward(self, x):
        return self.base(x) + self.scale * F.linear(F.linear(x, self.a), self.b)


class Layer(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = [z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.qkv(self.n1(x)).chunk(3, -1)]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class LM(nn.Module):
    def __init__(self, vocab, d=64, n=2, ctx=32):
        super().__init__()
        self.emb, self.pos = nn.Embedding(vocab, d), nn.Embedding(ctx, d)
        nn.init.normal_(self.emb.weight, std=0.1)
        nn.init.normal_(self.pos.weight, std=0.1)
        self.layers = nn.ModuleList(Layer(d, 4) for _ in range(n))
        self.norm = nn.LayerNorm(d)

    def forward(self, ids):
        x = self.emb(ids) + self.pos(torch.arange(ids.shape[1]))
        for layer in self.layers:
            x = layer(x)
        return self.norm(x) @ self.emb.weight.t()


def lora_modules(model):
    return [m for m in model.modules() if isinstance(m, ReLoRALinear)]


def inject(model, rank):
    for layer in model.layers:
        for name in ("qkv", "out", "up", "down"):
            setattr(layer, name, ReLoRALinear(getattr(layer, name), rank))


class Source:
    """Second-order source: the next token depends on the last two (modular rule with noise)."""

    def __init__(self, vocab, gen):
        self.v, self.gen = vocab, gen
        self.table = torch.randint(0, vocab, (vocab, 4), generator=gen)

    def batch(self, n, t):
        ids = torch.randint(0, self.v, (n, t + 1), generator=self.gen)
        noise = torch.rand(n, t + 1, generator=self.gen) < 0.08
        for i in range(2, t + 1):
            nxt = self.table[ids[:, i - 1], ids[:, i - 2] % 4]
            ids[:, i] = torch.where(noise[:, i], ids[:, i], nxt)
        return ids[:, :-1], ids[:, 1:]


def loss_fn(model, x, y):
    return F.cross_entropy(model(x)[:, 1:].flatten(0, 1), y[:, 1:].flatten())


@torch.no_grad()
def evaluate(model, data):
    return sum(loss_fn(model, x, y).item() for x, y in data) / len(data)


def jagged_lr(step, total, warm, cycle, lr):
    """Cosine over the whole run; inside it a fresh warmup after every merge."""
    cos = 0.2 + 0.4 * (1 + math.cos(math.pi * step / total))
    since = step if step < warm else (step - warm) % cycle
    return lr * cos * min(1.0, (since + 1) / 8)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=240)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    src = Source(24, torch.Generator().manual_seed(args.seed))
    valid = [src.batch(32, 32) for _ in range(3)]
    model = LM(24)
    warm = args.steps // 4
    cycle = max(10, args.steps // 6)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.0)
    first, merges = evaluate(model, valid), 0

    for step in range(args.steps):
        if step == warm:
            inject(model, rank=8)
            trainable = [p for p in model.parameters() if p.requires_grad]
            opt = torch.optim.AdamW(trainable, lr=args.lr, weight_decay=0.0)
            print(f"low-rank phase: {sum(p.numel() for p in trainable)} of "
                  f"{sum(p.numel() for p in model.parameters())} parameters train")
        elif step > warm and (step - warm) % cycle == 0:
            before = evaluate(model, valid)
            for m in lora_modules(model):
                m.merge()
                for p in (m.a, m.b):
                    opt.state.pop(p, None)
            merges += 1
            print(f"merge {merges}: valid {before:.3f} -> {evaluate(model, valid):.3f}")
        for g in opt.param_groups:
            g["lr"] = jagged_lr(step, args.steps, warm, cycle, args.lr)
        x, y = src.batch(16, 32)
        loss = loss_fn(model, x, y)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], 1.0)
        opt.step()
        if (step + 1) % 40 == 0:
            print(f"{step + 1}: train {loss.item():.3f} valid {evaluate(model, valid):.3f} lr {opt.param_groups[0]['lr']:.2e}")

    for m in lora_modules(model):
        m.merge()
    print(f"EVIDENCE val_first={first:.4f} val_final={evaluate(model, valid):.4f} merges={merges}")


if __name__ == "__main__":
    main()
