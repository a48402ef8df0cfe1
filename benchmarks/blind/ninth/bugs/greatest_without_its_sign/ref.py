"""Training that knows of quantisation: weights of four bits with one scale for each output, symmetric."""

import argparse

import torch
from torch import nn
from torch.nn import functional as F


class FakeQuantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight, scale, limit):
        return torch.clamp(torch.round(weight / scale), -limit, limit) * scale

    @staticmethod
    def backward(ctx, grad):
        return grad, None, None  # straight through


class QuantLinear(nn.Linear):
    def __init__(self, inputs, outputs, bits=4):
        super().__init__(inputs, outputs)
        self.limit = 2 ** (bits - 1) - 1

    def scale(self):
        largest = self.weight.detach().abs().amax(dim=1, keepdim=True)
        return largest.clamp_min(1e-6) / self.limit

    def quantized(self):
        return FakeQuantize.apply(self.weight, self.scale(), self.limit)

    def forward(self, x):
        return F.linear(x, self.quantized(), self.bias)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = QuantLinear(16, 64), QuantLinear(64, 64), QuantLinear(64, 1)

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x))))).squeeze(1)


def sample(count, truth, generator):
    x = torch.randn(count, 16, generator=generator)
    y = torch.tanh(x @ truth[:, 0]) + 0.5 * (x @ truth[:, 1]) * torch.sign(x[:, 0])
    return x, y + 0.05 * torch.randn(count, generator=generator)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=700)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(args.seed + 50)
    truth = torch.randn(16, 2, generator=generator) / 4
    x_test, y_test = sample(1000, truth, generator)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    for step in range(1, args.steps + 1):
        x, y = sample(64, truth, generator)
        loss = F.smooth_l1_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 140 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    with torch.no_grad():
        error = F.mse_loss(model(x_test), y_test).item() / y_test.var().item()
        off = max((layer.weight - layer.quantized()).abs().max().item() for layer in (model.fc1, model.fc2, model.fc3))
    print(f"EVIDENCE unexplained variance {error:.4f}, a weight is moved by at most {off:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
