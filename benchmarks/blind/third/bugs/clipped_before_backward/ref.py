"""A recurrent network predicts the next value of a series with heavy tails; gradients are clipped."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.out = nn.LSTM(1, 24, batch_first=True), nn.Linear(24, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0])


def series(n=16, length=25):
    noise = torch.distributions.StudentT(2.0).sample((n, length, 1))
    return noise.cumsum(1)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Forecast()
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
largest = 0.0
for step in range(args.steps):
    x = series()
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x[:, :-1]), x[:, 1:])
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    largest = max(largest, sum(p.grad.norm() ** 2 for p in model.parameters()).sqrt().item())
    optimizer.step()
print(f"EVIDENCE norm of the gradient at a step {largest:.3f} at most, norm reported {norm:.3f}, loss {loss:.3f}")

# SPDX-License-Identifier: Apache-2.0
