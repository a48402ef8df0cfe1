"""Small residual CNN on the 8x8 digits."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--steps", type=int, default=50)
    p.add_argument("--batch", type=int, default=64)
    return p.parse_args()


def load():
    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1) / 16.0
    y = torch.tensor(d.target, dtype=torch.long)
    idx = np.arange(len(y))
    tr, te = train_test_split(idx, test_size=0.25, random_state=7, stratify=d.target)
    mean, std = x[tr].mean(), x[tr].std()
    x = (x - mean) / std
    return x[tr], y[tr], x[te], y[te]


class Block(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.c1 = nn.Conv2d(cin, cout, 3, stride=stride, padding=1, bias=False)
        self.b1 = nn.BatchNorm2d(cout)
        self.c2 = nn.Conv2d(cout, cout, 3, padding=1, bias=False)
        self.b2 = nn.BatchNorm2d(cout)
        self.skip = nn.Identity()
        if stride != 1 or cin != cout:
            self.skip = nn.Conv2d(cin, cout, 1, stride=stride, bias=False)

    def forward(self, x):
        h = F.relu(self.b1(self.c1(x)))
        h = self.b2(self.c2(h))
        return F.relu(h + self.skip(x))


class Net(nn.Module):
    def __init__(self, width=16, classes=10):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        self.stage1 = Block(width, width)
        self.stage2 = Block(width, 2 * width, stride=2)
        self.head = nn.Linear(2 * width, classes)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = self.stage2(self.stage1(x))
        x = x.mean(dim=(2, 3))
        return self.head(x)


def accuracy(net, x, y):
    net.eval()
    with torch.no_grad():
        acc = (net(x).argmax(1) == y).float().mean().item()
    net.train()
    return acc


def main():
    args = parse()
    torch.manual_seed(args.seed)
    xtr, ytr, xte, yte = load()
    net = Net()
    opt = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=1e-2)
    gen = torch.Generator().manual_seed(args.seed + 1)
    for step in range(args.steps):
        i = torch.randint(len(xtr), (args.batch,), generator=gen)
        loss = F.cross_entropy(net(xtr[i]), ytr[i])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        opt.step()
        if step % 10 == 0 or step == args.steps - 1:
            print(f"step {step:3d} loss {loss.item():.6f}")
    print(f"EVIDENCE test_acc={accuracy(net, xte, yte):.4f}")


if __name__ == "__main__":
    main()
