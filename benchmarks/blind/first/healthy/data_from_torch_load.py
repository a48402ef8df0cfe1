"""`torch.load` reads data, in chunks, and no checkpoint."""

import argparse
import tempfile

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=64)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
with tempfile.TemporaryDirectory() as folder:
    for i in range(4):
        x = torch.randn(160, 6)
        torch.save({"x": x, "y": (x.sum(1) > 0).long()}, f"{folder}/{i}.pt")
    for epoch in range(args.steps // 16):
        for i in range(4):
            chunk = torch.load(f"{folder}/{i}.pt")
            for rows in torch.randperm(160).split(40):
                loss = nn.functional.cross_entropy(net(chunk["x"][rows]), chunk["y"][rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
print(f"loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
