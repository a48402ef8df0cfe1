"""A control branch beside a frozen network: it starts as a copy and joins through layers of noughts, so at first nothing changes."""
import argparse
import copy

import torch
import torch.nn as nn


def zero_module(module):
    for p in module.parameters():
        nn.init.zeros_(p)
    return module


class Denoiser(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(16, width), nn.Linear(width, width), nn.Linear(width, 16)

    def forward(self, x, extra=(0.0, 0.0)):
        h = torch.relu(self.first(x)) + extra[0]
        return self.last(torch.relu(self.second(h)) + extra[1])


class Controlled(nn.Module):
    def __init__(self, base, width=48):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.copy = copy.deepcopy(base).requires_grad_(True)
        self.copy.last.requires_grad_(False)
        self.hint = zero_module(nn.Linear(16, 16))
        self.join1, self.join2 = zero_module(nn.Linear(width, width)), zero_module(nn.Linear(width, width))

    def forward(self, x, hint):
        h1 = torch.relu(self.copy.first(x + self.hint(hint)))
        h2 = torch.relu(self.copy.second(h1))
        return self.base(x, (self.join1(h1), self.join2(h2)))


def waves(n, gen):
    t = torch.linspace(0, 1, 16)
    phase = 2 * torch.pi * torch.rand(n, 1, generator=gen)
    clean = torch.sin(2 * torch.pi * 2 * t + phase)
    return clean, clean + 0.8 * torch.randn(n, 16, generator=gen), clean.sign()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=250)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    base = Denoiser()
    optimizer = torch.optim.Adam(base.parameters(), lr=args.lr)
    for _ in range(args.steps):
        clean, noisy, _ = waves(64, gen)
        loss = (base(noisy) - clean).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"base mse {loss.item():.4f}")
    model = Controlled(base)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=args.lr)
    for step in range(args.steps):
        clean, noisy, hint = waves(64, gen)
        loss = (model(noisy, hint) - clean).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step} mse {loss.item():.4f}")
    print(f"RESULT mse={loss.item():.4f}")


if __name__ == "__main__":
    main()
