"""Sharpness-aware minimisation: the weights climb, a second pass gives the gradient, and norms keep their averages still there."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class SAM:
    def __init__(self, params, base, rho=0.05):
        self.params, self.base, self.rho = list(params), base, rho
        self.climb = {}

    @torch.no_grad()
    def first_step(self):
        norm = torch.stack([p.grad.norm() for p in self.params]).norm()
        for p in self.params:
            e = p.grad * (self.rho / (norm + 1e-12))
            p.add_(e)
            self.climb[p] = e
            p.grad = None

    @torch.no_grad()
    def second_step(self):
        for p in self.params:
            p.sub_(self.climb.pop(p))
        self.base.step()
        self.base.zero_grad()


def running_stats(model, on):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm1d):
            m.momentum = 0.1 if on else 0.0


def seeds(n, gen):
    x = torch.randn(n, 14, generator=gen)
    return x, ((x[:, :7] * x[:, 7:]).sum(1) > 0).long()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--steps", type=int, default=200)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    layer = lambda inp: [nn.Linear(inp, 64), nn.BatchNorm1d(64), nn.ReLU()]
    net = nn.Sequential(*layer(14), *layer(64), nn.Linear(64, 2))
    sam = SAM(net.parameters(), torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9))
    for step in range(args.steps):
        x, y = seeds(64, gen)
        running_stats(net, True)
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        sam.first_step()
        running_stats(net, False)
        F.cross_entropy(net(x), y).backward()
        sam.second_step()
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    net.eval()
    x, y = seeds(1000, gen)
    print(f"RESULT accuracy={(net(x).argmax(1) == y).float().mean():.3f}")


if __name__ == "__main__":
    main()
