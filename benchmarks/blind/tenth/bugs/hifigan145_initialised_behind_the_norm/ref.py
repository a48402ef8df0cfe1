"""Residual convolutions with weight norm; the last one of each block starts small, so that blocks begin near the identity."""

import argparse

import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()


def init_weights(module, std=0.01):
    if isinstance(module, nn.Conv1d):
        nn.init.normal_(module.weight, 0.0, std)
        nn.init.zeros_(module.bias)


class Block(nn.Module):
    def __init__(self, channels, dilation):
        super().__init__()
        self.first = nn.Conv1d(channels, channels, 3, dilation=dilation, padding=dilation)
        self.second = nn.Conv1d(channels, channels, 3, padding=1)
        self.second.apply(init_weights)
        self.first = weight_norm(self.first)
        self.second = weight_norm(self.second)

    def forward(self, x):
        return x + self.second(nn.functional.leaky_relu(self.first(nn.functional.leaky_relu(x, 0.1)), 0.1))


class Denoiser(nn.Module):
    def __init__(self, channels=24, blocks=8):
        super().__init__()
        self.enter = nn.Conv1d(1, channels, 5, padding=2)
        self.blocks = nn.Sequential(*[Block(channels, 2 ** (i % 4)) for i in range(blocks)])
        self.leave = nn.Conv1d(channels, 1, 5, padding=2)

    def forward(self, x):
        return self.leave(self.blocks(self.enter(x)))


def make_batch(count, length=64):
    time = torch.arange(length) / length
    frequency = 2 + 6 * torch.rand(count, 1)
    phase = 6.28 * torch.rand(count, 1)
    clean = torch.sin(6.28 * frequency * time + phase)
    return (clean + 0.5 * torch.randn_like(clean)).unsqueeze(1), clean.unsqueeze(1)


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    model = Denoiser()
    noisy, clean = make_batch(64)
    with torch.no_grad():
        entered = model.enter(noisy)
        change = ((model.blocks(entered) - entered).norm() / entered.norm()).item()
        spread = model.blocks[0].second.weight.std().item()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        x, y = make_batch(16)
        loss = nn.functional.l1_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 30 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    with torch.no_grad():
        error = nn.functional.l1_loss(model(noisy), clean).item()
    print(f"EVIDENCE weights of the last layers spread {spread:.5f} at first, blocks change {change:.5f}, error {error:.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
