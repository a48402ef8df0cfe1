"""Pictures grow from epoch to epoch, batches shrink, dropout and the strength of noise rise with them."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def kites(n, size, gen):
    proto = F.interpolate(torch.randn(5, 1, 6, 6, generator=torch.Generator().manual_seed(71)), size=32, mode="bilinear")
    y = torch.randint(0, 5, (n,), generator=gen)
    full = proto[y] + 0.5 * torch.randn(n, 1, 32, 32, generator=gen)
    return F.adaptive_avg_pool2d(full, size), y


class KiteNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12)
        self.c2, self.b2 = nn.Conv2d(12, 24, 3, padding=1, stride=2), nn.BatchNorm2d(24)
        self.drop = nn.Dropout(0.0)
        self.out = nn.Linear(24, 5)

    def forward(self, x):
        x = F.relu(self.b2(self.c2(F.relu(self.b1(self.c1(x))))))
        return self.out(self.drop(x.mean((2, 3))))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--steps", type=int, default=100)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    net = KiteNet()
    optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, nesterov=True)
    stages = [(12, 64, 0.0), (16, 48, 0.05), (20, 32, 0.1), (24, 24, 0.15)]
    per_stage = max(1, args.steps // len(stages))
    for size, batch, drop in stages:
        net.drop.p = drop
        for group in optimizer.param_groups:
            group["lr"] = args.lr * batch / 64
        for _ in range(per_stage):
            x, y = kites(batch, size, gen)
            loss = F.cross_entropy(net(x + drop * torch.randn(x.shape, generator=gen)), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"size {size} batch {batch} loss {loss.item():.4f}")
    net.eval()
    x, y = kites(256, 24, gen)
    print(f"RESULT accuracy={(net(x).argmax(1) == y).float().mean():.3f}")


if __name__ == "__main__":
    main()
