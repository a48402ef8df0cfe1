"""Low-rank adaptation of a frozen layer by hand."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class LoRA(nn.Module):
    def __init__(self, base, rank=4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_down = nn.Parameter(torch.zeros(rank, base.in_features))
        self.lora_up = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + x @ self.lora_down.T @ self.lora_up.T


net = nn.Sequential(LoRA(nn.Linear(12, 32)), nn.ReLU(), LoRA(nn.Linear(32, 3)))
head = nn.Linear(3, 3)
opt = torch.optim.AdamW([p for p in [*net.parameters(), *head.parameters()] if p.requires_grad], lr=args.lr)
for step in range(args.steps):
    x = torch.randn(64, 12)
    loss = nn.functional.cross_entropy(head(net(x)), x[:, :3].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"EVIDENCE the adapter's matrix has norm {(net[0].lora_up @ net[0].lora_down).norm():.4f}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
