"""Residual network of readings from a weather mast with stochastic depth: whole blocks are dropped, so some gradients are absent."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def mast(n, gen):
    x = torch.randn(n, 14, generator=gen)
    wind = 2 + x[:, 0] + 0.5 * x[:, 1] ** 2 - torch.tanh(x[:, 2] * x[:, 3])
    return x, wind + 0.1 * torch.randn(n, generator=gen)


class Block(nn.Module):
    def __init__(self, width, keep):
        super().__init__()
        self.keep = keep
        self.norm, self.a, self.b = nn.LayerNorm(width), nn.Linear(width, width), nn.Linear(width, width)

    def branch(self, x):
        return self.b(F.gelu(self.a(self.norm(x))))

    def forward(self, x):
        if not self.training:
            return x + self.keep * self.branch(x)
        if torch.rand(()) < self.keep:
            return x + self.branch(x)
        return x


class DeepMast(nn.Module):
    def __init__(self, width=32, depth=6):
        super().__init__()
        self.inp = nn.Linear(14, width)
        self.blocks = nn.ModuleList([Block(width, 1 - 0.5 * i / (depth - 1)) for i in range(depth)])
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        x = self.inp(x)
        for block in self.blocks:
            x = block(x)
        return self.out(x).squeeze(1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=200)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(args.seed)
    model = DeepMast()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    dropped = 0
    for step in range(1, args.steps + 1):
        x, y = mast(64, gen)
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        dropped += sum(block.a.weight.grad is None for block in model.blocks)
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step} mse {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        x, y = mast(500, torch.Generator().manual_seed(3))
        mse = F.mse_loss(model(x), y).item()
    print(f"RESULT blocks_dropped={dropped / args.steps:.2f}/step test_mse={mse:.4f}")


if __name__ == "__main__":
    main()
