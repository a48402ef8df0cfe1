"""Gradients of three tasks are taken one by one, and each is freed of what points against the others before they are added."""
import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


def patients(n, gen):
    x = torch.randn(n, 12, generator=gen)
    return x, torch.stack([x[:, :4].sum(1), -x[:, :4].sum(1) + x[:, 4].abs() * 2, x[:, 5] * x[:, 6]], 1)


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(24, 1) for _ in range(3))

    def forward(self, x):
        h = self.body(x)
        return [head(h).squeeze(1) for head in self.heads]


def project(grads, rng):
    out = []
    for i, g in enumerate(grads):
        g, others = g.clone(), [j for j in range(len(grads)) if j != i]
        rng.shuffle(others)
        for j in others:
            dot = g @ grads[j]
            if dot < 0:
                g -= dot / grads[j].pow(2).sum() * grads[j]
        out.append(g)
    return torch.stack(out).sum(0)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=200)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    rng, gen = random.Random(args.seed), torch.Generator().manual_seed(args.seed)
    net = Shared()
    body = list(net.body.parameters())
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    for step in range(args.steps):
        x, y = patients(64, gen)
        losses = [F.mse_loss(o, y[:, k]) for k, o in enumerate(net(x))]
        grads = [torch.autograd.grad(l, body, retain_graph=True) for l in losses]
        optimizer.zero_grad()
        sum(losses).backward(inputs=list(net.heads.parameters()))
        flat = project([torch.cat([g.flatten() for g in gs]) for gs in grads], rng)
        for p, part in zip(body, flat.split([p.numel() for p in body])):
            p.grad = part.view_as(p).clone()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step} losses {[round(l.item(), 3) for l in losses]}")
    print(f"RESULT losses={[round(l.item(), 3) for l in losses]}")


if __name__ == "__main__":
    main()
