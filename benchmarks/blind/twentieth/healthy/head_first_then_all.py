"""Mushroom photos as features: the head is warmed up with a frozen body, then the body joins."""
import argparse

import torch
from torch import nn
import torch.nn.functional as F


def mushrooms(n, gen):
    centres = torch.randn(7, 20, generator=torch.Generator().manual_seed(5))
    y = torch.randint(7, (n,), generator=gen)
    return centres[y] + 0.8 * torch.randn(n, 20, generator=gen), y


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=240)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    body = nn.Sequential(nn.Linear(20, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 32), nn.ReLU())
    head = nn.Linear(32, 7)
    body.requires_grad_(False)
    body.eval()  # its batch statistics stay as they are while it is frozen
    optimizer = torch.optim.AdamW(head.parameters(), lr=args.lr)
    warmup = args.steps // 3
    for step in range(args.steps):
        if step == warmup:
            body.requires_grad_(True)
            body.train()
            optimizer.add_param_group({"params": list(body.parameters()), "lr": args.lr / 3})
            print(f"step {step}: body joins")
        x, y = mushrooms(64, gen)
        loss = F.cross_entropy(head(body(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    body.eval()
    with torch.no_grad():
        x, y = mushrooms(1000, gen)
        print(f"accuracy {(head(body(x)).argmax(1) == y).float().mean():.3f}")


if __name__ == "__main__":
    main()
