"""Domain-adversarial training: digits as they are (source) and inverted, noisy ones without labels (target)."""
import argparse
import math

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ReverseLayer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


class DANN(nn.Module):
    def __init__(self):
        super().__init__()
        self.feature = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 48), nn.ReLU())
        self.class_head = nn.Linear(48, 10)
        self.domain_head = nn.Sequential(nn.Linear(48, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x, strength):
        feature = self.feature(x)
        return self.class_head(feature), self.domain_head(ReverseLayer.apply(feature, strength)).squeeze(1)


def get_loaders():
    x, y = load_digits(return_X_y=True)
    x = torch.tensor(x, dtype=torch.float32) / 16
    y = torch.tensor(y)
    order = torch.randperm(len(x))
    source, target, test = order[:800], order[800:1400], order[1400:]
    shifted = 0.6 * x + 0.4 * torch.roll(x, 1, dims=1) + 0.25 * torch.rand_like(x)
    source = DataLoader(TensorDataset(x[source], y[source]), batch_size=40, shuffle=True, drop_last=True)
    target = DataLoader(TensorDataset(shifted[target]), batch_size=40, shuffle=True, drop_last=True)
    return source, target, (shifted[test], y[test]), x[order[1400:]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=600)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    source, target, (test_x, test_y), plain_x = get_loaders()
    model = DANN()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    bce = nn.BCEWithLogitsLoss()
    step = 0
    while step < args.steps:
        for (xs, ys), (xt,) in zip(source, target):
            strength = 2 / (1 + math.exp(-10 * step / args.steps)) - 1
            logits, domain_s = model(xs, strength)
            _, domain_t = model(xt, strength)
            class_loss = nn.functional.cross_entropy(logits, ys)
            domain_loss = bce(domain_s, torch.zeros_like(domain_s)) + bce(domain_t, torch.ones_like(domain_t))
            loss = class_loss + domain_loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 100 == 0:
                print(f"step {step}: class {class_loss.item():.4f}, domain {domain_loss.item():.4f}, strength {strength:.3f}")
    model.eval()
    with torch.no_grad():
        logits, domain_t = model(test_x, 1.0)
        _, domain_s = model(plain_x, 1.0)
        told = 0.5 * ((domain_t > 0).float().mean() + (domain_s <= 0).float().mean()).item()
        right = (logits.argmax(1) == test_y).float().mean().item()
    print(f"EVIDENCE domains told apart in {told:.4f}, domain loss {domain_loss.item():.4f}, target accuracy {right:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
