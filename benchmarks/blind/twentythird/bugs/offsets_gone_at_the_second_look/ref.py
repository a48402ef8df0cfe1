"""Activated LoRA: adapters act only from the invocation tokens on, so that the cache of the base stays valid before them."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

VOCAB, LENGTH, INVOKE = 20, 18, 19


class ALoraLinear(nn.Module):
    """Adds the adapter to the positions from `offsets` (one for each row) on; without offsets it is the base layer."""

    def __init__(self, base, rank=6, alpha=12):
        super().__init__()
        self.base = base
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)
        self.scale = alpha / rank
        self.offsets = None
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        result = self.base(x)
        offsets = torch.full((len(x),), x.shape[1]) if self.offsets is None else self.offsets
        active = torch.arange(x.shape[1])[None] >= offsets[:, None]
        return result + self.scale * self.up(self.down(x)) * active[..., None]


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.value = nn.Linear(width, width), nn.Linear(width, width)
        self.key, self.out = nn.Linear(width, width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def split(self, x):
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def forward(self, x):
        h = self.norm1(x)
        y = F.scaled_dot_product_attention(self.split(self.query(h)), self.split(self.key(h)), self.split(self.value(h)),
                                           is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class Base(nn.Module):
    def __init__(self, width=48, heads=4, depth=3):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCAB, width), nn.Embedding(LENGTH, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.head = nn.Linear(width, VOCAB)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.training else block(x)
        return self.head(x)


class ActivatedModel(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base.requires_grad_(False)
        for block in base.blocks:
            block.query, block.value = ALoraLinear(block.query), ALoraLinear(block.value)
        self.adapters = [m for m in base.modules() if isinstance(m, ALoraLinear)]

    def set_offsets(self, offsets):
        for adapter in self.adapters:
            adapter.offsets = offsets

    def forward(self, ids):
        """Offsets stay until the next call, as blocks may be run again in the backward pass."""
        self.set_offsets((ids == INVOKE).int().argmax(1))
        logits = self.base(ids)
        return logits


def rows(gen, size=24, invoked=True):
    """A row counts upwards; after the invocation it repeats the row from its start, a step higher."""
    start = torch.randint(0, VOCAB - 1, (size, 1), generator=gen)
    stride = torch.randint(1, 4, (size, 1), generator=gen)
    ids = (start + stride * torch.arange(LENGTH)) % (VOCAB - 1)
    if invoked:
        cut = torch.randint(6, 10, (size, 1), generator=gen)
        at = torch.arange(LENGTH)[None].expand(size, -1)
        again = (start + 1 + stride * (at - cut - 1)) % (VOCAB - 1)
        ids = torch.where(at > cut, again, ids)
        ids = torch.where(at == cut, INVOKE, ids)
    return ids


def loss_of(model, ids):
    losses = F.cross_entropy(model(ids)[:, :-1].transpose(1, 2), ids[:, 1:], reduction="none")
    invoked = ((ids == INVOKE).cumsum(1) > 0)[:, :-1]
    weight = invoked.float() if invoked.any() else torch.ones_like(losses)
    weight[:, 0] = 0
    return (losses * weight).sum() / weight.sum()


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--steps", type=int, default=100)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    base = Base()
    optimizer = torch.optim.AdamW(base.parameters(), lr=3e-3)
    for _ in range(120):
        loss = loss_of(base, rows(gen, invoked=False))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"base loss {loss.item():.4f}")
    model = ActivatedModel(base).train()
    params = [p for a in model.adapters for p in (a.down.weight, a.up.weight)]
    for p in params:
        p.requires_grad_(True)
    optimizer = torch.optim.AdamW(params, lr=args.lr, weight_decay=0.0)
    gradients = 0.0
    for step in range(args.steps):
        loss = loss_of(model, rows(gen))
        optimizer.zero_grad()
        loss.backward()
        gradients = max(gradients, math.sqrt(sum((p.grad ** 2).sum().item() for p in params if p.grad is not None)))
        optimizer.step()
        if step % 25 == 24:
            print(f"step {step + 1} loss {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        held = loss_of(model, rows(torch.Generator().manual_seed(31), 128)).item()
    print(f"EVIDENCE max_grad={gradients:.5f} up={sum(a.up.weight.norm().item() for a in model.adapters):.4f} held={held:.4f}")


if __name__ == "__main__":
    main()
