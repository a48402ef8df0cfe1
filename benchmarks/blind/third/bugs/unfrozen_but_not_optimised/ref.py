"""Fine-tuning: the head is trained first, then the backbone with a smaller rate."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        return self.head(self.backbone(x))


def unfreeze(model, optimizer):
    for p in model.backbone.parameters():
        p.requires_grad = True
    optimizer.add_param_group({"params": model.backbone.parameters(), "lr": args.lr / 5})


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Net()
model.backbone.requires_grad_(False)
optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=args.lr)
before = model.backbone[0].weight.detach().clone()
rule = torch.randn(12, 3)
for step in range(args.steps):
    if step == args.steps // 4:
        unfreeze(model, optimizer)
    x = torch.randn(32, 12)
    y = (x @ rule + (x[:, :3] * x[:, 3:6])).argmax(1)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
moved = (model.backbone[0].weight - before).norm().item()
print(f"EVIDENCE the backbone moved by {moved:.4f}, loss {loss:.3f}")

# SPDX-License-Identifier: Apache-2.0
