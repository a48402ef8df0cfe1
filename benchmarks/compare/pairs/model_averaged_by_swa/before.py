"""Digits classifier with a weight average for evaluation and gradient clipping."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class ConvNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, width, 3, padding=1), nn.Conv2d(width, 2 * width, 3, padding=1)
        self.n1, self.n2 = nn.GroupNorm(4, width), nn.GroupNorm(4, 2 * width)
        self.head = nn.Linear(2 * width * 16, 10)

    def forward(self, x):
        x = F.relu(self.n1(self.c1(x)))
        x = F.max_pool2d(F.relu(self.n2(self.c2(x))), 2)
        return self.head(x.flatten(1))


class WeightAverage:
    """Exponential moving average of the parameters."""

    def __init__(self, model, decay):
        self.decay = decay
        self.module = copy.deepcopy(model).requires_grad_(False)

    @torch.no_grad()
    def update_parameters(self, model):
        for avg, p in zip(self.module.parameters(), model.parameters()):
            avg.mul_(self.decay).add_(p, alpha=1 - self.decay)


def augment(x, gen):
    """Shift by at most one pixel and add some noise."""
    dx, dy = torch.randint(-1, 2, (2,), generator=gen).tolist()
    return torch.roll(x, (dy, dx), dims=(2, 3)) + 0.05 * torch.randn(x.shape, generator=gen)


@torch.no_grad()
def score(model, x, y):
    logits = model(x)
    return (logits.argmax(1) == y).float().mean().item(), F.cross_entropy(logits, y).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    x, y = load_digits(return_X_y=True)
    x = torch.tensor(x, dtype=torch.float32).view(-1, 1, 8, 8) / 16
    y = torch.tensor(y)
    order = torch.randperm(len(x), generator=gen)
    x, y = x[order], y[order]
    x_train, y_train, x_test, y_test = x[:1300], y[:1300], x[1300:], y[1300:]

    model = ConvNet()
    ema = WeightAverage(model, decay=0.95)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    for step in range(1, args.steps + 1):
        idx = torch.randint(len(x_train), (96,), generator=gen)
        loss = F.cross_entropy(model(augment(x_train[idx], gen)), y_train[idx], label_smoothing=0.05)
        opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        ema.update_parameters(model)
        if step % 20 == 0:
            print(f"step {step:4d} loss {loss.item():.4f} grad norm {norm:.3f}")

    acc, nll = score(model, x_test, y_test)
    ema_acc, ema_nll = score(ema.module, x_test, y_test)
    print(f"EVIDENCE ema_accuracy={ema_acc:.4f} ema_nll={ema_nll:.4f} accuracy={acc:.4f} nll={nll:.4f}")


if __name__ == "__main__":
    main()
