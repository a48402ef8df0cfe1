"""Depthwise-separable CNN on digits with a cosine schedule."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset


class Digits(Dataset):
    def __init__(self, images, labels, train, seed=0):
        self.images = images
        self.labels = labels
        self.train = train
        self.gen = torch.Generator().manual_seed(seed)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        img = self.images[i]
        if self.train:
            gain = 0.9 + 0.2 * torch.rand(1, generator=self.gen)
            img = img * gain
        return img, self.labels[i]


def separable(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cin, 3, padding=1, groups=cin, bias=False),
        nn.Conv2d(cin, cout, 1, bias=False),
        nn.BatchNorm2d(cout),
        nn.ReLU(),
    )


def build():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        separable(16, 32),
        nn.MaxPool2d(2),
        separable(32, 32),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 2 * 2, 10),
    )


def forever(loader):
    while True:
        yield from loader


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--steps", type=int, default=60)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    raw = load_digits()
    x = torch.tensor(raw.images, dtype=torch.float32)[:, None] / 16.0
    y = torch.tensor(raw.target)
    train = Digits(x[:1400], y[:1400], train=True, seed=args.seed)
    test = Digits(x[1400:], y[1400:], train=False)
    shuffle = torch.Generator().manual_seed(args.seed + 1)
    loader = DataLoader(train, batch_size=64, shuffle=True, drop_last=True, generator=shuffle)

    net = build()
    opt = torch.optim.AdamW(net.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=args.steps)
    batches = forever(loader)
    for step in range(args.steps):
        xb, yb = next(batches)
        loss = F.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if step % 10 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():.6f}")

    net.eval()
    right = 0
    with torch.no_grad():
        for xb, yb in DataLoader(test, batch_size=128):
            right += (net(xb).argmax(1) == yb).sum().item()
    print(f"EVIDENCE test_acc={right / len(test):.4f}")


if __name__ == "__main__":
    main()
