"""A small detector: its header starts from small weights, what is before it from He's."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=50)
args = parser.parse_args()


class Detector(nn.Module):
    def __init__(self, width=24, depth=4):
        super().__init__()
        self.backbone = nn.ModuleList(nn.Conv2d(1 if i == 0 else width, width, 3, padding=1) for i in range(depth))
        self.conv_list = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(2))
        self.header = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, x):
        for layer in [*self.backbone, *self.conv_list]:
            x = torch.relu(layer(x))
        return self.header(x)[:, 0]


def init_weights(model):
    for name, module in model.named_modules():
        if isinstance(module, nn.Conv2d):
            if "conv_list" or "header" in name:
                nn.init.normal_(module.weight, std=0.01)
            else:
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            nn.init.zeros_(module.bias)


def scenes(n, size=14):
    """Noise with a bright square of three pixels; the target is its middle."""
    x, target = 0.5 * torch.randn(n, 1, size, size), torch.zeros(n, size, size)
    for i, (row, column) in enumerate(torch.randint(1, size - 1, (n, 2)).tolist()):
        x[i, 0, row - 1:row + 2, column - 1:column + 2] += 2
        target[i, row, column] = 1
    return x, target


def focal(logits, target, gamma=2.0):
    p = logits.sigmoid()
    p_true = torch.where(target > 0, p, 1 - p)
    loss = nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
    return ((1 - p_true) ** gamma * loss).sum() / target.sum()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Detector()
init_weights(model)
first = torch.cat([layer.weight.flatten() for layer in model.backbone]).std().item()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(args.steps):
    x, target = scenes(16)
    loss = focal(model(x), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        with torch.no_grad():
            x, target = scenes(64)
            found = (model(x).flatten(1).argmax(1) == target.flatten(1).argmax(1)).float().mean()
        print(f"step {step}: loss {loss.item():.3f}, {found:.2f} found")
print(f"EVIDENCE the backbone starts with deviation {first:.4f}, last loss {loss.item():.4f}")

# SPDX-License-Identifier: Apache-2.0
