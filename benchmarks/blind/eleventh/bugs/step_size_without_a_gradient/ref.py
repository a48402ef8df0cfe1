"""Quantisation-aware fine-tuning with learned step sizes: three bits for weights and activations."""
import argparse
import math

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def grad_scale(x, scale):
    return (x - x * scale).detach() + x * scale


def round_pass(x):
    return (x.round() - x).detach() + x


class LearnedStep(nn.Module):
    """Rounds to multiples of a step which is learned with the weights."""

    def __init__(self, bits, signed):
        super().__init__()
        self.low, self.high = (-2 ** (bits - 1), 2 ** (bits - 1) - 1) if signed else (0, 2 ** bits - 1)
        self.step = nn.Parameter(torch.tensor(1.0))
        self.register_buffer("ready", torch.tensor(False))

    def forward(self, x):
        if not self.ready:
            self.step.data.copy_(2 * x.detach().abs().mean() / math.sqrt(self.high))
            self.ready.fill_(True)
        scale = 1.0 / math.sqrt(x.numel() * self.high)
        step = grad_scale(self.step, scale)
        return round_pass((x / step).clamp(self.low, self.high)) * step


class QuantLinear(nn.Linear):
    def __init__(self, inputs, outputs, bits=3, signed_input=False):
        super().__init__(inputs, outputs)
        self.quant_weight = LearnedStep(bits, signed=True)
        self.quant_input = LearnedStep(bits, signed=signed_input)
        self.enabled = False

    def forward(self, x):
        if not self.enabled:
            return super().forward(x)
        return nn.functional.linear(self.quant_input(x), self.quant_weight(self.weight), self.bias)


def run(model, loader, optimizer, steps, name):
    model.train()
    step = 0
    while step < steps:
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 100 == 0:
                print(f"{name}, step {step}: loss {loss.item():.4f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=500)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y = load_digits(return_X_y=True)
    order = torch.randperm(len(x))
    x, y = torch.tensor(x, dtype=torch.float32)[order] / 16, torch.tensor(y)[order]
    loader = DataLoader(TensorDataset(x[:1200], y[:1200]), batch_size=48, shuffle=True)
    model = nn.Sequential(QuantLinear(64, 64), nn.ReLU(), QuantLinear(64, 64), nn.ReLU(), QuantLinear(64, 10))
    layers = [m for m in model if isinstance(m, QuantLinear)]
    weights = [p for m in layers for p in (m.weight, m.bias)]
    run(model, loader, torch.optim.Adam(weights, lr=args.lr), args.steps // 2, "full precision")
    for layer in layers:
        layer.enabled = True
    with torch.no_grad():
        model(x[:48])
    first = torch.stack([q.step.detach().clone() for q in model.modules() if isinstance(q, LearnedStep)])
    run(model, loader, torch.optim.Adam(model.parameters(), lr=args.lr / 2), args.steps // 2, "three bits")
    last = torch.stack([q.step.detach().clone() for q in model.modules() if isinstance(q, LearnedStep)])
    model.eval()
    with torch.no_grad():
        logits = model(x[1200:])
        loss, right = nn.functional.cross_entropy(logits, y[1200:]).item(), (logits.argmax(1) == y[1200:]).float().mean().item()
    print(f"EVIDENCE steps moved by {((last - first).abs() / first).mean().item():.4f} of themselves, test loss {loss:.4f}, right {right:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
