"""A draft head for speculative decoding: RMS norms and projections on top of frozen features."""
import argparse

import torch
from torch import nn
import torch.nn.functional as F

DIM, VOCAB = 48, 36


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)
        return (x.float() * scale).to(x.dtype) * self.weight


class DraftLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.hidden_norm = RMSNorm(dim)
        self.up = nn.Linear(dim, 2 * dim)
        self.down = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.down(F.silu(self.up(self.hidden_norm(x))))


class DraftHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(DraftLayer(DIM) for _ in range(2))
        self.norm = RMSNorm(DIM)
        self.lm_head = nn.Linear(DIM, VOCAB)

    def forward(self, features):
        x = features
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.norm(x))


class Target(nn.Module):
    """Stands for the big model: gives features and the tokens that it would choose."""

    def __init__(self):
        super().__init__()
        g = torch.Generator().manual_seed(21)
        self.register_buffer("mix", torch.randn(DIM, DIM, generator=g) / DIM ** 0.5)
        self.register_buffer("read", torch.randn(DIM, VOCAB, generator=g))
        self.register_buffer("salience", torch.linspace(0.05, 2.5, DIM))

    def forward(self, n, gen):
        raw = torch.randn(n, DIM, generator=gen)
        choice = ((raw * self.salience) @ self.mix).tanh() @ self.read
        return raw, choice.argmax(-1)


def build_draft(dtype):
    """fp32 storage; the compute type is chosen by autocast."""
    draft = DraftHead()
    return draft, torch.autocast("cpu", dtype=dtype)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--steps", type=int, default=500)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    target = Target()
    draft, autocast = build_draft(torch.bfloat16)
    opt = torch.optim.Adam(draft.parameters(), lr=args.lr, betas=(0.9, 0.95))
    for step in range(args.steps):
        features, token = target(256, gen)
        with autocast:
            logits = draft(features)
        loss = F.cross_entropy(logits.float(), token)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 100 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    with torch.no_grad(), autocast:
        features, token = target(4000, gen)
        accepted = (draft(features).argmax(-1) == token).float().mean().item()
    gains = [m.weight.float() for m in draft.modules() if isinstance(m, RMSNorm)]
    moved = max((g - 1).abs().max().item() for g in gains)
    print(f"EVIDENCE norm_gain_moved={moved:.4f} acceptance={accepted:.3f} loss={loss.item():.3f}")


if __name__ == "__main__":
    main()
