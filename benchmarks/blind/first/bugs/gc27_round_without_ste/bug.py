"""An autoencoder with codes of three bits."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class Compressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4)), nn.Linear(4, 12)

    def quantize(self, code):
        code = code.clamp(-3, 4)
        return code.round()

    def forward(self, x):
        return self.decode(self.quantize(self.encode(x)))


model = Compressor()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
mix = torch.randn(3, 12)
for step in range(args.steps):
    x = torch.randn(64, 3) @ mix
    loss = nn.functional.mse_loss(model(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
size = sum(p.grad.abs().sum() for p in model.encode.parameters())
print(f"EVIDENCE the encoder's gradient adds up to {size:.5f}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
