"""Is there anything in the data? The same net is fitted to the true labels and to three shuffles of them, as a permutation test."""
import argparse

import torch
from torch import nn


def table(count, seed):
    gen = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 12, generator=gen)
    y = (x[:, 0] + 0.7 * x[:, 1] * x[:, 2] + 0.8 * torch.randn(count, generator=gen) > 0).long()
    return x, y


def fit(x, y, args, seed):
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Dropout(0.3), nn.Linear(24, 2))
    optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=0.1)
    for step in range(args.steps):
        rows = torch.randint(0, len(x), (64,))
        loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net.eval()


@torch.no_grad()
def accuracy(net, x, y):
    return (net(x).argmax(1) == y).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=80)
    args = ap.parse_args()
    x, y = table(800, seed=args.seed)
    test_x, test_y = table(800, seed=9000)
    true = accuracy(fit(x, y, args, args.seed), test_x, test_y)
    null = []
    for k in range(3):
        order = torch.randperm(len(y), generator=torch.Generator().manual_seed(k))
        null.append(accuracy(fit(x, y[order], args, args.seed), test_x, test_y))
    print(f"RESULT true={true:.4f} null={sum(null) / len(null):.4f}")


if __name__ == "__main__":
    main()
