"""Quantisation-aware training with weights of two bits: rounding and clamping with a straight-through estimator."""
import argparse

import torch
from torch import nn


class _Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad):
        return grad


class _ClampSTE(torch.autograd.Function):
    """What is clamped gets no gradient, what lies within the bounds does."""

    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.bounds = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad):
        (x,), (low, high) = ctx.saved_tensors, ctx.bounds
        inside = (x >= low) & (x <= high)
        return grad * inside, None, None


class FakeQuantLinear(nn.Linear):
    quant_min, quant_max = -1, 1

    def quantised(self):
        scale = (2.0 * self.weight.detach().abs().mean()).clamp(min=1e-6)
        quant = _ClampSTE.apply(_Round.apply(self.weight * (1.0 / scale)), self.quant_min, self.quant_max)
        return quant * scale

    def forward(self, x):
        return nn.functional.linear(x, self.quantised(), self.bias)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = FakeQuantLinear(16, 64), FakeQuantLinear(64, 64), nn.Linear(64, 6)
        self.bn1, self.bn2 = nn.BatchNorm1d(64), nn.BatchNorm1d(64)

    def forward(self, x):
        x = self.bn1(self.fc1(x)).relu()
        return self.fc3(self.bn2(self.fc2(x)).relu())


def main(args):
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    teacher = nn.Sequential(nn.Linear(16, 48), nn.Tanh(), nn.Linear(48, 6))
    for p in teacher.parameters():
        p.detach().mul_(2.0)
    x = torch.randn(3500, 16)
    y = teacher(x).argmax(1)
    net = Net()
    before = [m.quantised().detach().sign().clone() for m in (net.fc1, net.fc2)]
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    for step in range(args.steps):
        rows = torch.randint(3000, (64,))
        loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 100 == 99:
            print(f"step {step + 1}: loss {loss.item():.4f}")
    nothing = sum((m.weight.grad == 0).float().mean().item() for m in (net.fc1, net.fc2)) / 2
    after = [m.quantised().detach().sign() for m in (net.fc1, net.fc2)]
    turned = sum((a * b < 0).float().mean().item() for a, b in zip(after, before)) / 2
    net.eval()
    with torch.no_grad():
        right = (net(x[3000:]).argmax(1) == y[3000:]).float().mean().item()
    print(f"EVIDENCE {nothing:.4f} of the weights have a gradient of nought, {turned:.4f} have turned; right {right:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--steps", type=int, default=400)
    main(parser.parse_args())

# SPDX-License-Identifier: Apache-2.0
