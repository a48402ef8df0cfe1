"""Training at sizes that are drawn for each batch, evaluation at a fixed one with flipped copies."""

import argparse
import random

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=50)
args = parser.parse_args()


class Net(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.SiLU())
        self.body = nn.Sequential(nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.GroupNorm(4, 16), nn.SiLU())
        self.head = nn.Linear(16, classes)

    def forward(self, x):
        return self.head(self.body(self.stem(x)).mean((2, 3)))


def pictures(count, side=28):
    """Stripes: across, along or diagonal, with a random phase."""
    kind = torch.randint(3, (count,))
    row, column = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    phase = 6.28 * torch.rand(count, 1, 1)
    where = torch.stack([row, column, row + column])[kind]
    return (torch.sin(0.9 * where + phase) + 0.5 * torch.randn(count, side, side))[:, None], kind


def augment(x, dice):
    side = dice.choice([12, 16, 20, 24])
    top, left = dice.randrange(x.shape[2] - side + 1), dice.randrange(x.shape[3] - side + 1)
    x = x[:, :, top:top + side, left:left + side]
    if dice.random() < 0.5:
        x = x.flip(2).flip(3)
    if dice.random() < 0.3:
        x = nn.functional.interpolate(x, scale_factor=1.25, mode="bilinear", align_corners=False)
    if dice.random() < 0.2:
        hole = dice.randrange(side - 4)
        x = x.clone()
        x[:, :, hole:hole + 4, hole:hole + 4] = 0
    return x


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    logits = (model(x) + model(x.flip(2).flip(3))) / 2
    model.train()
    return (logits.argmax(1) == y).float().mean().item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
dice = random.Random(args.seed)
train_x, train_y = pictures(256)
valid = pictures(90)
model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(args.steps):
    size = dice.choice([8, 16, 24])
    index = torch.randint(len(train_y), (size,))
    loss = nn.functional.cross_entropy(model(augment(train_x[index], dice)), train_y[index])
    optimizer.zero_grad(set_to_none=dice.random() < 0.5)
    loss.backward()
    optimizer.step()
    if step % 17 == 16 or (step > 30 and dice.random() < 0.1):
        print(f"step {step + 1}: loss {loss.item():.4f}, right {evaluate(model, *valid):.3f}")

# SPDX-License-Identifier: Apache-2.0
