"""Transfer in stages: frozen backbone whose train() is overridden so that its batch norm stays in
eval mode, first step at learning rate zero, unfrozen blocks appended by add_param_group with the
current (already decayed) rate, moments of the head kept."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


def block(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU())


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.stages = nn.ModuleList([block(1, 16), block(16, 32), block(32, 32)])
        self.head = nn.Linear(32, classes)
        self.frozen = 0

    def freeze_until(self, count):
        self.frozen = count
        for i, stage in enumerate(self.stages):
            stage.requires_grad_(i >= count)
        return self.train(self.training)

    def train(self, mode=True):
        super().train(mode)
        for stage in self.stages[:self.frozen]:
            stage.eval()
        return self

    def forward(self, x):
        for i, stage in enumerate(self.stages):
            x = stage(x)
            if i == 0:
                x = F.max_pool2d(x, 2)
        return self.head(x.mean((2, 3)))


def fit_source(net, x, y, steps=60):
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(steps):
        i = torch.randint(0, len(x), (64,))
        loss = F.cross_entropy(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=6e-3)
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1) / 16.0
    y = torch.tensor(d.target)
    o = torch.randperm(len(x))
    x, y = x[o], y[o]
    net = Net(5)
    small = y[:900] < 5
    fit_source(net, x[:900][small], y[:900][small])
    net.head = nn.Linear(32, 10)
    net.freeze_until(3)

    train_x, train_y = x[900:1300], y[900:1300]
    opt = torch.optim.SGD(net.head.parameters(), lr=args.lr * 10, momentum=0.9)
    base = args.lr * 10
    unfreeze_at = {args.steps // 3: 2, 2 * args.steps // 3: 1}
    for step in range(args.steps):
        factor = min(1.0, step / 8) * (1.0 - 0.9 * step / args.steps)
        if step in unfreeze_at:
            count = unfreeze_at[step]
            net.freeze_until(count)
            opt.add_param_group({"params": list(net.stages[count].parameters()), "lr": base * factor, "scale": 0.3})
        for group in opt.param_groups:
            group["lr"] = base * factor * group.get("scale", 1.0)
        net.train()
        i = torch.randint(0, len(train_x), (64,))
        loss = F.cross_entropy(net(train_x[i]), train_y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0:
            print(f"step {step:3d} loss {loss.item():.4f} groups {len(opt.param_groups)} lr {opt.param_groups[0]['lr']:.4f}")
    net.eval()
    with torch.no_grad():
        acc = (net(x[1300:]).argmax(1) == y[1300:]).float().mean().item()
    print(f"EVIDENCE test_accuracy={acc:.4f}")


if __name__ == "__main__":
    main()
