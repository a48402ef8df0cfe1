"""Lookahead: fast weights run ahead for k steps, then jump back to slow weights that have moved half of the way."""
import argparse

import torch
import torch.nn as nn


class Lookahead:
    def __init__(self, optimizer, k=6, alpha=0.5):
        self.optimizer, self.k, self.alpha, self.count = optimizer, k, alpha, 0
        self.slow = [[p.detach().clone() for p in g["params"]] for g in optimizer.param_groups]

    def step(self):
        self.optimizer.step()
        self.count += 1
        if self.count % self.k:
            return
        with torch.no_grad():
            for group, slow in zip(self.optimizer.param_groups, self.slow):
                for p, s in zip(group["params"], slow):
                    s.lerp_(p, self.alpha)
                    p.copy_(s)


def kiln(n, gen):
    x = torch.rand(n, 5, generator=gen)
    return x, torch.sin(6 * x[:, 0]) * x[:, 1] + x[:, 2].pow(2) - x[:, 3] * x[:, 4] + 0.05 * torch.randn(n, generator=gen)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=300)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    net = nn.Sequential(nn.Linear(5, 48), nn.GELU(), nn.Linear(48, 48), nn.GELU(), nn.Linear(48, 1))
    optimizer = torch.optim.RAdam(net.parameters(), lr=args.lr)
    ahead = Lookahead(optimizer)
    for step in range(args.steps):
        x, y = kiln(64, gen)
        loss = (net(x).squeeze(1) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        ahead.step()
        if step % 60 == 0:
            print(f"step {step} mse {loss.item():.4f}")
    print(f"RESULT mse={loss.item():.4f}")


if __name__ == "__main__":
    main()
