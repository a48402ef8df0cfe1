"""Domain-adversarial training with a gradient reversal layer: the domain loss is meant to stay near
log 2, its weight starts at zero, and target labels are never used for training."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.strength * grad, None


class DANN(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(64, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, 64), nn.ReLU())
        self.classifier = nn.Linear(64, 10)
        self.domain = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x, strength):
        h = self.features(x)
        return self.classifier(h), self.domain(Reverse.apply(h, strength)).squeeze(1)


def load(seed):
    data = load_digits()
    x = torch.tensor(data.data, dtype=torch.float32) / 16.0
    y = torch.tensor(data.target)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    x, y = x[order], y[order]
    shift = torch.linspace(0, 0.2, 64)
    target = (x[800:] * 0.8 + shift + 0.1 * torch.randn(x[800:].shape)).clamp(0, 1.3)
    return x[:800], y[:800], target[:600], target[600:], y[1400:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    sx, sy, tx, test_x, test_y = load(args.seed)
    model = DANN()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        model.train()
        p = step / args.steps
        strength = 0.3 * (2.0 / (1.0 + math.exp(-10 * p)) - 1.0)
        si, ti = torch.randint(0, len(sx), (64,)), torch.randint(0, len(tx), (64,))
        x = torch.cat([sx[si], tx[ti]])
        logits, domain = model(x, strength)
        cls = F.cross_entropy(logits[:64], sy[si])
        side = torch.cat([torch.zeros(64), torch.ones(64)])
        dom = F.binary_cross_entropy_with_logits(domain, side)
        optimizer.zero_grad()
        (cls + dom).backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step:3d} loss {cls.item():.4f} domain {dom.item():.4f} strength {strength:.3f}")
    model.eval()
    with torch.no_grad():
        acc = (model(test_x, 0.0)[0].argmax(1) == test_y).float().mean().item()
    print(f"EVIDENCE target_accuracy={acc:.4f}")


if __name__ == "__main__":
    main()
