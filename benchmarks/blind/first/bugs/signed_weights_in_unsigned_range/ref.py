"""Quantisation-aware training: weights pass fake quantisation with a symmetric scale."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class QuantLinear(nn.Linear):
    def forward(self, x):
        scale = self.weight.detach().abs().max().item() / 127
        weight = torch.fake_quantize_per_tensor_affine(self.weight, scale, 0, -128, 127)
        self.lost = (weight - self.weight).abs().mean().item()
        return nn.functional.linear(x, weight, self.bias)


net = nn.Sequential(QuantLinear(10, 40), nn.ReLU(), QuantLinear(40, 3))
opt = torch.optim.Adam(net.parameters(), lr=args.lr)
for step in range(args.steps):
    x = torch.randn(64, 10)
    loss = nn.functional.cross_entropy(net(x), x[:, :3].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"EVIDENCE quantisation moves a weight by {net[0].lost:.5f}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
