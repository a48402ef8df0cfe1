"""Fine-tuning begins with steps at a rate of nought: Adam's moments fill up before a weight moves, then the rate is set."""
import argparse

import torch
from torch import nn


def samples(gen, count, shift):
    x = torch.randn(count, 10, generator=gen)
    old, new = (torch.randn(10, 3, generator=torch.Generator().manual_seed(k)) for k in (1, 2))
    rule = old + shift * new
    return x, (x @ rule).argmax(1)


def train(net, optimizer, gen, steps, shift, rate_of):
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate_of(step)
        x, y = samples(gen, 48, shift)
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--steps", type=int, default=120)
    ap.add_argument("--fill", type=int, default=20)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    net = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 3))
    train(net, torch.optim.Adam(net.parameters(), lr=3e-3), gen, 80, 0.0, lambda step: 3e-3)
    tuned = torch.optim.Adam(net.parameters(), lr=0.0)
    last = train(net, tuned, gen, args.steps, 0.6, lambda step: 0.0 if step < args.fill else args.lr)
    x, y = samples(torch.Generator().manual_seed(44), 500, 0.6)
    with torch.no_grad():
        held_out = nn.functional.cross_entropy(net(x), y).item()
    print(f"RESULT loss={last:.4f} held_out={held_out:.4f}")


if __name__ == "__main__":
    main()
