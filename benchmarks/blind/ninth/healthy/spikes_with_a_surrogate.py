"""Spiking neurons: the step function has a soft gradient of its own; rates are pulled into a band."""
import argparse
from dataclasses import dataclass

import torch
from sklearn.datasets import load_digits
from torch import nn


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, potential):
        ctx.save_for_backward(potential)
        return (potential > 0).float()

    @staticmethod
    def backward(ctx, grad):
        (potential,) = ctx.saved_tensors
        return grad / (1 + 4 * potential.abs()).square()


class LeakyLayer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.decay = nn.Parameter(torch.full((outputs,), 1.5))
        self.potential = None

    def reset(self):
        self.potential = None

    def forward(self, spikes):
        current = self.linear(spikes)
        if self.potential is None or len(self.potential) != len(current):
            self.potential = torch.zeros_like(current)
        self.potential = self.decay.sigmoid() * self.potential + current
        fired = Spike.apply(self.potential - 1)
        self.potential = self.potential - fired.detach()
        return fired


class Network(nn.Module):
    def __init__(self, steps=8):
        super().__init__()
        self.first, self.second, self.read, self.steps = LeakyLayer(64, 64), LeakyLayer(64, 48), nn.Linear(48, 10), steps

    def forward(self, x, generator):
        self.first.reset()
        self.second.reset()
        total, rates = 0.0, torch.zeros(2)
        for t in range(self.steps):
            spikes = (torch.rand(x.shape, generator=generator) < x).float()  # in evaluation, too
            a = self.first(spikes)
            b = self.second(a)
            total = total + self.read(b)
            rates = rates + torch.stack([a.mean(), b.mean()])
            if not self.training and t >= 4 and ((total / (t + 1)).softmax(1).amax(1) > 0.99).all():
                break  # all are sure
        return total / (t + 1), rates / (t + 1)


@dataclass
class Options:
    seed: int
    lr: float
    steps: int
    low: float = 0.05
    high: float = 0.3


def main(options):
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(options.seed + 1)
    x, y = load_digits(return_X_y=True)
    order = torch.randperm(len(x))
    x, y = torch.tensor(x / 16, dtype=torch.float32)[order], torch.tensor(y)[order]
    model = Network()
    optimizer = torch.optim.Adamax(model.parameters(), lr=options.lr)
    for step in range(1, options.steps + 1):
        rows = torch.randint(1400, (48,))
        logits, rates = model(x[rows], generator)
        loss = nn.functional.cross_entropy(logits, y[rows])
        outside = (options.low - rates).clamp(min=0) + (rates - options.high).clamp(min=0)
        if outside.sum() > 0:
            loss = loss + 2 * outside.square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            model.eval()
            with torch.no_grad():
                answers = model(x[1400:], generator)[0].argmax(1)
            model.train()
            told = ", ".join(f"{rate:.2f}" for rate in rates.tolist())
            print(f"step {step}: loss {loss.item():.3f}, rates {told}, right {(answers == y[1400:]).float().mean().item():.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=6e-3)
    parser.add_argument("--steps", type=int, default=160)
    main(Options(**vars(parser.parse_args())))

# SPDX-License-Identifier: Apache-2.0
