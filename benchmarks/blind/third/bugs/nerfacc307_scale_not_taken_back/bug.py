"""A field of colours over coordinates is fitted under autocast with a constant scale of the loss."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.frequencies = nn.Parameter(2 ** torch.arange(4.0), requires_grad=False)
        self.net = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 3), nn.Sigmoid())

    def forward(self, x):
        phase = (x[..., None] * self.frequencies).flatten(1)
        return self.net(torch.cat([phase.sin(), phase.cos()], 1))


def colours(x):
    return torch.stack([x.prod(1), x.sum(1).sin() ** 2, (x[:, 0] > x[:, 1]).float()], 1)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Field()
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=args.lr * 10, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 10)
for step in range(args.steps):
    x = torch.rand(64, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        predicted = model(x)
        loss = nn.functional.smooth_l1_loss(predicted.float(), colours(x))
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    optimizer.step()
largest = max(p.grad.abs().max().item() for p in model.parameters() if p.grad is not None)
print(f"EVIDENCE loss {loss:.4f}, largest gradient at the end {largest:.5f}, spread of colours {predicted.std():.4f}")

# Idea from nerfstudio-project/nerfacc#307
# SPDX-License-Identifier: Apache-2.0
