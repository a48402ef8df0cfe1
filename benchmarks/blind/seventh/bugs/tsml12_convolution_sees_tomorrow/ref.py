"""A network of dilated convolutions forecasts the next value of a noisy oscillation at each time."""

import argparse

import torch
from torch import nn
from torch.nn import functional as F

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.004), ("--steps", int, 120)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()


class Block(nn.Module):
    def __init__(self, channels, kernel, dilation):
        super().__init__()
        self.reach = (kernel - 1) * dilation
        self.conv = nn.Conv1d(channels, channels, kernel, dilation=dilation)
        self.mix = nn.Conv1d(channels, channels, 1)

    def forward(self, x):
        padded = F.pad(x, (self.reach, 0))
        return x + self.mix(F.gelu(self.conv(padded)))


class Forecaster(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        self.lift, self.head = nn.Conv1d(1, channels, 1), nn.Conv1d(channels, 1, 1)
        self.blocks = nn.Sequential(*[Block(channels, 3, 2 ** k) for k in range(4)])

    def forward(self, x):
        return self.head(self.blocks(self.lift(x[:, None]))).squeeze(1)


def series(count, length=65):
    rate, phase = 0.2 + 0.3 * torch.rand(count, 1), 6.28 * torch.rand(count, 1)
    return (torch.arange(length) * rate + phase).sin() + 0.4 * torch.randn(count, length)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
train, valid = series(600), series(100)
model = Forecaster()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(1, args.steps + 1):
    rows = train[torch.randint(len(train), (32,))]
    loss = F.mse_loss(model(rows[:, :-1]), rows[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        with torch.no_grad():
            whole = model(valid[:, :-1])
            error = F.mse_loss(whole, valid[:, 1:]).item()
            honest = F.mse_loss(model(valid[:, :33])[:, -1], valid[:, 33]).item()
        print(f"step {step}: loss {loss.item():.4f}, error {error:.4f}, without what comes after {honest:.4f}")
print(f"EVIDENCE the error is {error:.4f}, and {honest:.4f} where the series ends")

# SPDX-License-Identifier: Apache-2.0
