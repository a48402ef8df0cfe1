"""Two parameter groups by name: no decay for biases and norms."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layer_norm = nn.LayerNorm(dim)
        self.up, self.down = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.layer_norm(x))))


model = nn.Sequential(nn.Linear(16, 32), Block(32), Block(32), nn.Linear(32, 4))
no_decay = ["bias", "layer_norm.weight"]
groups = [
    {"params": [p for n, p in model.named_parameters() if not any(nd in n for nd in no_decay)], "weight_decay": 0.1},
    {"params": [p for n, p in model.named_parameters() if any(nd in n for nd in no_decay)], "weight_decay": 0.0},
]
optimizer = torch.optim.AdamW(groups, lr=args.lr)
for step in range(args.steps):
    x = torch.randn(64, 16)
    y = x.view(64, 4, 4).abs().sum(2).argmax(1)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
decayed = {id(p) for p in optimizer.param_groups[0]["params"]}
norms = sum(id(m.weight) in decayed for m in model.modules() if isinstance(m, nn.LayerNorm))
print(f"EVIDENCE {norms} norms are decayed, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
