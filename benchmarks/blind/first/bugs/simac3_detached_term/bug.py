"""A classifier with a reconstruction term."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

encode, classify, decode = nn.Linear(14, 20), nn.Linear(20, 3), nn.Linear(20, 14)
optimizer = torch.optim.Adam([*encode.parameters(), *classify.parameters(), *decode.parameters()], lr=args.lr)
for step in range(args.steps):
    x = torch.randn(64, 14)
    hidden = torch.relu(encode(x))
    class_loss = nn.functional.cross_entropy(classify(hidden), x[:, :3].argmax(1))
    reconstruction = nn.functional.mse_loss(decode(hidden), x)
    loss = class_loss + 0.5 * reconstruction.detach()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"EVIDENCE reconstruction {reconstruction:.4f}, classes {class_loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
