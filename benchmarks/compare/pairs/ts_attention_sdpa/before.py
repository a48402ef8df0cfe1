"""Small causal transformer that forecasts a coupled pair of oscillators."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def simulate(n, length, seed):
    g = torch.Generator().manual_seed(seed)
    pos = torch.randn(n, 2, generator=g)
    vel = torch.randn(n, 2, generator=g) * 0.3
    stiff = 0.05 + 0.1 * torch.rand(n, 1, generator=g)
    track = []
    for _ in range(length):
        force = -stiff * pos + 0.03 * (pos.flip(1) - pos)
        vel = vel + force
        pos = pos + vel
        track.append(pos)
    x = torch.stack(track, dim=1)
    return x + 0.02 * torch.randn(x.shape, generator=g)


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        qkv = self.qkv(x).view(b, t, 3, self.heads, d // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        mask = torch.ones(t, t, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(mask, float("-inf"))
        y = torch.softmax(scores, dim=-1) @ v
        return self.proj(y.transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = Attention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class Forecaster(nn.Module):
    def __init__(self, dim=32, heads=4, depth=2, max_len=64):
        super().__init__()
        self.inp = nn.Linear(2, dim)
        self.pos = nn.Parameter(torch.randn(max_len, dim) * 0.02)
        self.blocks = nn.ModuleList([Block(dim, heads) for _ in range(depth)])
        self.out = nn.Linear(dim, 2)

    def forward(self, x):
        h = self.inp(x) + self.pos[: x.shape[1]]
        for block in self.blocks:
            h = block(h)
        return x + self.out(h)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=50)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    data = simulate(600, 41, args.seed)
    train, test = data[:500], data[500:]
    model = Forecaster()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=args.steps)
    for step in range(args.steps):
        batch = train[torch.randint(len(train), (48,))]
        loss = F.mse_loss(model(batch[:, :-1]), batch[:, 1:])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        sched.step()
        if step % 10 == 0 or step == args.steps - 1:
            print(f"{step:4d}  loss {loss.item():.9f}")
    model.eval()
    with torch.no_grad():
        mse = F.mse_loss(model(test[:, :-1]), test[:, 1:]).item()
    print(f"EVIDENCE test_mse={mse:.6f}")


if __name__ == "__main__":
    main()
