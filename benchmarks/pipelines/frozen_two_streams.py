"""Pictures and numbers, each through an encoder that stays frozen in evaluation mode beside a fusion that trains; L2 by groups."""

import torch
import torch.nn.functional as F
from torch import nn

from options import options


class Fusion(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.pictures = nn.Sequential(nn.Conv2d(1, width, 3), nn.BatchNorm2d(width), nn.ReLU(), nn.AdaptiveMaxPool2d(1), nn.Flatten())
        self.numbers = nn.Sequential(nn.Linear(6, width), nn.BatchNorm1d(width), nn.ReLU())
        self.mix = nn.Sequential(nn.Linear(2 * width, width), nn.LayerNorm(width), nn.ReLU(), nn.Linear(width, 3))

    def forward(self, picture, numbers):
        return self.mix(torch.cat([self.pictures(picture), self.numbers(numbers)], dim=1))


def sample(n):
    kind = torch.randint(3, (n,))
    picture, numbers = torch.randn(n, 1, 8, 8), torch.randn(n, 6)
    picture[:, 0, 2:5, 2:5] += kind[:, None, None].float()
    numbers[:, 0] += kind * 0.7
    return picture, numbers, kind


def run(model, optimizer, steps):
    for _ in range(steps):
        picture, numbers, kind = sample(40)
        loss = F.cross_entropy(model(picture, numbers), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    args = options(lr=4e-3, width=16, steps=50)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    model = Fusion(args.width)
    print(f"all: {run(model, torch.optim.Adam(model.parameters(), lr=args.lr), args.steps // 2):.3f}")
    for stream in (model.pictures, model.numbers):
        stream.requires_grad_(False).eval()
    decayed = [p for p in model.mix.parameters() if p.dim() > 1]
    rest = [p for p in model.mix.parameters() if p.dim() < 2]
    groups = [{"params": decayed, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}]
    print(f"fusion: {run(model, torch.optim.AdamW(groups, lr=args.lr), args.steps):.3f}")
    model.eval()
    with torch.no_grad():
        picture, numbers, kind = sample(200)
        print(f"right {(model(picture, numbers).argmax(1) == kind).float().mean().item():.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
