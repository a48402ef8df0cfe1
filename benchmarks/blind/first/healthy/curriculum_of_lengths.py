"""Sequences grow during training."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
class Adder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.out = nn.LSTM(2, 32, batch_first=True), nn.Linear(32, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1])


model = Adder()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
length = 4
for step in range(args.steps):
    if step and step % 15 == 0:
        length += 4
    value, mark = torch.rand(32, length), (torch.rand(32, length) < 0.4).float()
    loss = nn.functional.mse_loss(model(torch.stack([value, mark], 2)), (value * mark).sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
print(f"length {length}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
