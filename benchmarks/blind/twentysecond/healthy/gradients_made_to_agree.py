"""Gradient surgery for two tasks: where they conflict, each loses its part against the other; p.grad is written by hand."""
import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


class TwoTasks(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
        self.level, self.kind = nn.Linear(24, 1), nn.Linear(24, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.level(h).squeeze(1), self.kind(h)


def flat(grads, params):
    return torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for g, p in zip(grads, params)])


def surgery(grads, rng):
    out, conflicts = [], 0
    for i, g in enumerate(grads):
        mine = g.clone()
        others = [k for k in range(len(grads)) if k != i]
        rng.shuffle(others)
        for k in others:
            dot = mine @ grads[k]
            if dot < 0:
                mine -= dot / grads[k].pow(2).sum() * grads[k]
                conflicts += 1
        out.append(mine)
    return torch.stack(out).sum(0), conflicts


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=150)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    rng, model = random.Random(args.seed), TwoTasks()
    params = list(model.parameters())
    optimizer = torch.optim.Adam(params, lr=args.lr)
    mix = torch.randn(10, 4, generator=torch.Generator().manual_seed(2))
    conflicts = 0
    for step in range(args.steps):
        x = torch.randn(64, 10)
        z = x @ mix
        level, kind = model(x)
        losses = (F.mse_loss(level, z[:, 0] / 3), F.cross_entropy(kind, z[:, 1:].argmax(1)))
        grads = [flat(torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True), params) for loss in losses]
        joint, n = surgery(grads, rng)
        conflicts += n
        at = 0
        for p in params:
            p.grad = joint[at:at + p.numel()].view_as(p).clone()
            at += p.numel()
        optimizer.step()
        if step % 50 == 49:
            print(f"step {step + 1} level {losses[0].item():.4f} kind {losses[1].item():.4f} conflicts {conflicts}")
    print(f"RESULT level={losses[0].item():.4f} kind={losses[1].item():.4f}")


if __name__ == "__main__":
    main()
