"""Snapshots with warm restarts: the rate leaps up every ten steps, momentum is thrown away, and the snapshots vote at the end."""
import argparse
import copy

import torch
import torch.nn.functional as F
from torch import nn

DIM, CLASSES, CYCLE = 16, 4, 10


def batch(gen, n=48):
    rule = torch.randn(DIM, CLASSES, generator=torch.Generator().manual_seed(8))
    x = torch.randn(n, DIM, generator=gen)
    return x, (x @ rule + 0.7 * (x ** 2) @ rule.flip(1)).argmax(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.2)
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = nn.Sequential(nn.Linear(DIM, 64), nn.ReLU(), nn.Linear(64, CLASSES))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=CYCLE, eta_min=args.lr / 100)
    gen = torch.Generator().manual_seed(args.seed + 9)
    snapshots = []
    for step in range(args.steps):
        x, y = batch(gen)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        scheduler.step()
        if (step + 1) % CYCLE == 0:
            snapshots.append(copy.deepcopy(model).eval())
            optimizer.state.clear()          # the next cycle starts without momentum
            print(f"step {step + 1} loss {loss.item():.4f}")
    x, y = batch(torch.Generator().manual_seed(50), 1000)
    with torch.no_grad():
        vote = torch.stack([m(x).softmax(-1) for m in snapshots]).mean(0)
    print(f"accuracy of the vote {(vote.argmax(1) == y).float().mean().item():.4f}")


if __name__ == "__main__":
    main()
