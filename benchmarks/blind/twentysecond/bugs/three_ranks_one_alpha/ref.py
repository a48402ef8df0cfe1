"""Tune attention with LoRA on q, k and v, then serve: the three adapters are fused into one for the joint projection, and merged."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

WIDTH, RANK, ALPHA, SYMBOLS, LENGTH = 32, 4, 8, 10, 8


class LoraLinear(nn.Module):
    def __init__(self, base, rank=RANK, alpha=ALPHA):
        super().__init__()
        self.base, self.rank, self.alpha = base, rank, alpha
        self.lora_down = nn.Linear(base.in_features, rank, bias=False)
        self.lora_up = nn.Linear(rank, base.out_features, bias=False)
        nn.init.zeros_(self.lora_up.weight)

    def forward(self, x):
        return self.base(x) + self.lora_up(self.lora_down(x)) * (self.alpha / self.rank)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return x + self.out(F.scaled_dot_product_attention(self.q(x), self.k(x), self.v(x)))


class FusedAttention(nn.Module):
    """The form that is served: one projection for q, k and v."""

    def __init__(self, attention):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), attention.out
        parts = [getattr(m, "base", m) for m in (attention.q, attention.k, attention.v)]
        self.qkv.weight.data = torch.cat([p.weight.data for p in parts])
        self.qkv.bias.data = torch.cat([p.bias.data for p in parts])

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        return x + self.out(F.scaled_dot_product_attention(q, k, v))

    def merge(self, adapter):
        rank = adapter["down"].shape[0]
        scale = adapter["alpha"] / rank
        self.qkv.weight.data += scale * adapter["up"] @ adapter["down"]


class Sorter(nn.Module):
    """Says for each place which symbol stands there after sorting."""

    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(SYMBOLS, WIDTH), nn.Parameter(0.1 * torch.randn(LENGTH, WIDTH))
        self.attention = nn.ModuleList(Attention() for _ in range(2))
        self.mlp = nn.ModuleList(nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 96), nn.GELU(), nn.Linear(96, WIDTH))
                                 for _ in range(2))
        self.head = nn.Linear(WIDTH, SYMBOLS)

    def forward(self, ids):
        x = self.embed(ids) + self.place
        for attention, mlp in zip(self.attention, self.mlp):
            x = attention(x)
            x = x + mlp(x)
        return self.head(x)


def export(attention):
    """One adapter of rank 3r: the downs are stacked, the ups stand on the diagonal."""
    parts = (attention.q, attention.k, attention.v)
    return {"down": torch.cat([p.lora_down.weight.data for p in parts]),
            "up": torch.block_diag(*[p.lora_up.weight.data for p in parts]),
            "alpha": sum(p.alpha for p in parts)}


def batch_of(gen, falling, size=64):
    ids = torch.randint(0, SYMBOLS, (size, LENGTH), generator=gen)
    return ids, ids.sort(dim=1, descending=falling).values


def fit(model, params, lr, steps, gen, falling):
    optimizer = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    for step in range(steps):
        ids, target = batch_of(gen, falling)
        loss = F.cross_entropy(model(ids).flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 80 == 79:
            print(f"step {step + 1} loss {loss.item():.4f}")


@torch.no_grad()
def accuracy(model, gen):
    ids, target = batch_of(gen, True, 400)
    return (model(ids).argmax(-1) == target).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=160)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 1)
    model = Sorter()
    fit(model, model.parameters(), args.lr, args.steps, gen, falling=False)
    model.requires_grad_(False)
    for layer in model.attention:
        for name in ("q", "k", "v"):
            setattr(layer, name, LoraLinear(getattr(layer, name)))
    fit(model, [p for p in model.parameters() if p.requires_grad], args.lr, args.steps, gen, falling=True)
    tuned = accuracy(model, torch.Generator().manual_seed(8))
    adapters = [export(layer) for layer in model.attention]
    model.attention = nn.ModuleList(FusedAttention(layer) for layer in model.attention)
    for layer, adapter in zip(model.attention, adapters):
        layer.merge(adapter)
    served = accuracy(model, torch.Generator().manual_seed(8))
    print(f"EVIDENCE tuned={tuned:.4f} served={served:.4f} difference={tuned - served:.4f}")


if __name__ == "__main__":
    main()
