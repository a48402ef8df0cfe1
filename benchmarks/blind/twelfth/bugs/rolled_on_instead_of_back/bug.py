"""Attention within windows that are shifted in each second block: signals are cleaned of their noise."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

LENGTH, WINDOW = 48, 8


class ShiftedBlock(nn.Module):
    def __init__(self, width, shift):
        super().__init__()
        self.shift = shift
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        h = self.norm1(x)
        if self.shift:
            h = torch.roll(h, -self.shift, 1)
        windows = h.reshape(batch * length // WINDOW, WINDOW, width)
        mixed = self.attention(windows, windows, windows, need_weights=False)[0].reshape(batch, length, width)
        if self.shift:
            mixed = torch.roll(mixed, -self.shift, 1)
        x = x + mixed
        return x + self.mlp(self.norm2(x))


class Cleaner(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.inp = nn.Linear(1, width)
        self.places = nn.Parameter(0.02 * torch.randn(LENGTH, width))
        self.blocks = nn.ModuleList([ShiftedBlock(width, 0), ShiftedBlock(width, WINDOW // 2)])
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        h = self.inp(x.unsqueeze(-1)) + self.places
        for block in self.blocks:
            h = block(h)
        return self.out(h).squeeze(-1)


def make_signals(count, generator):
    time = torch.arange(LENGTH) / LENGTH
    frequency = torch.rand(count, 1, generator=generator) * 4 + 1
    phase = torch.rand(count, 1, generator=generator) * 6.28
    clean = torch.sign(torch.sin(6.28 * frequency * time + phase))
    return clean + 0.8 * torch.randn(count, LENGTH, generator=generator), clean


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    noisy, clean = make_signals(1500, generator)
    model = Cleaner()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        rows = torch.randint(0, 1300, (32,), generator=generator)
        loss = F.mse_loss(model(noisy[rows]), clean[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    with torch.no_grad():
        error = F.mse_loss(model(noisy[1300:]), clean[1300:])
    print(f"EVIDENCE error on new signals {error.item():.4f}, loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
