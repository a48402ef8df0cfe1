"""Linear decay by updates, with four micro-batches to an update."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

model = nn.Sequential(nn.Linear(20, 64), nn.SiLU(), nn.Linear(64, 20))
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
total = args.steps
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: max(0.0, 1 - n / total))
matrix = torch.randn(20, 20) / 20**0.5
rates = []
for update in range(args.steps):
    for micro in range(4):
        x = torch.randn(16, 20)
        loss = nn.functional.mse_loss(model(x), x @ matrix) / 4
        loss.backward()
        if micro == 3:
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad(set_to_none=True)
    rates.append(scheduler.get_last_lr()[0])
idle = sum(rate == 0 for rate in rates)
print(f"EVIDENCE {idle} of {total} updates have a rate of zero, loss {4 * loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
