"""Tiny decoder-only transformer that continues modular recurrences."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

MOD = 17


def recurrences(n, length, gen):
    """x[t+1] = a*x[t] + b (mod 17) with a, b drawn for each sequence."""
    a = torch.randint(1, 4, (n,), generator=gen)
    b = torch.randint(0, 3, (n,), generator=gen)
    seq = [torch.randint(0, MOD, (n,), generator=gen)]
    for _ in range(length):
        seq.append((a * seq[-1] + b) % MOD)
    return torch.stack(seq, dim=1)


class Attention(nn.Module):
    def __init__(self, dim, heads, ctx):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.proj = nn.Linear(dim, dim)
        mask = torch.tril(torch.ones(ctx, ctx, dtype=torch.bool))
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        att = q @ k.transpose(-2, -1) * (d // self.heads) ** -0.5
        att = att.masked_fill(~self.mask[:t, :t], float("-inf"))
        y = att.softmax(dim=-1) @ v
        return self.proj(y.transpose(1, 2).reshape(b, t, d))


class Layer(nn.Module):
    def __init__(self, dim, heads, ctx):
        super().__init__()
        self.n1 = nn.LayerNorm(dim)
        self.att = Attention(dim, heads, ctx)
        self.n2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        x = x + self.att(self.n1(x))
        return x + self.mlp(self.n2(x))


class Decoder(nn.Module):
    def __init__(self, dim=48, heads=4, depth=2, ctx=24):
        super().__init__()
        self.tok = nn.Embedding(MOD, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(ctx, dim))
        self.layers = nn.ModuleList([Layer(dim, heads, ctx) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, MOD)

    def forward(self, ids):
        x = self.tok(ids) + self.pos[: ids.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return self.out(self.norm(x))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=6e-3)
    ap.add_argument("--steps", type=int, default=50)
    ap.add_argument("--batch", type=int, default=32)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 100)
    model = Decoder()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.98))
    recent = []
    for step in range(args.steps):
        seq = recurrences(args.batch, 24, gen)
        logits = model(seq[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), seq[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        recent.append(loss.item())
        if (step + 1) % 10 == 0 or step == args.steps - 1:
            print(f"step {step} loss {sum(recent) / len(recent):.9f}")
            recent = []

    test = recurrences(256, 24, torch.Generator().manual_seed(4242))
    with torch.no_grad():
        hit = (model(test[:, :-1]).argmax(-1) == test[:, 1:])[:, 4:].float().mean().item()
    print(f"EVIDENCE next_token_acc={hit:.4f}")


if __name__ == "__main__":
    main()
