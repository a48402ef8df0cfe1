"""Pictures and captions learn a common space with a learned temperature; the loss looks from both sides."""

import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
WORDS, LENGTH = 30, 6


class Pairs(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.picture = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(128, width))
        self.caption = nn.EmbeddingBag(WORDS, width)
        self.project = nn.Linear(width, width)
        self.log_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, pictures, captions):
        a = nn.functional.normalize(self.picture(pictures), dim=-1)
        b = nn.functional.normalize(self.project(self.caption(captions)), dim=-1)
        logits = self.log_scale.exp().clamp(max=100) * a @ b.t()
        return logits, logits.t()


def batch(count):
    topic = torch.randint(10, (count,))
    pictures = patterns[topic] + 0.4 * torch.randn(count, 1, 8, 8)
    captions = (3 * topic[:, None] + torch.randint(3, (count, LENGTH))) % WORDS
    detail = torch.randint(8, (count,))
    pictures[torch.arange(count), 0, 0, detail] += 3.0
    captions[:, 0] = detail
    return pictures, captions


def both_sides(per_picture, per_caption):
    target = torch.arange(len(per_picture))
    first = nn.functional.cross_entropy(per_picture, target)
    second = nn.functional.cross_entropy(per_caption, target)
    return (first + second) / 2


torch.manual_seed(args.seed)
torch.set_num_threads(1)
patterns = torch.randn(10, 1, 8, 8)
model = Pairs()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.05)
for step in range(args.steps):
    pictures, captions = batch(48)
    per_picture, per_caption = model(pictures, captions)
    loss = both_sides(per_picture, per_caption)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step}: loss {loss.item():.3f}, scale {model.log_scale.exp().item():.2f}")
with torch.no_grad():
    per_picture, per_caption = model(*batch(48))
    shares = [nn.functional.cross_entropy(side, torch.arange(48)).item() for side in (per_picture, per_picture.t())]
print(f"EVIDENCE the captions' side counts {nn.functional.cross_entropy(per_caption, torch.arange(48)).item() - shares[1]:.4f} "
      f"too much; loss {loss.item():.3f}")

# SPDX-License-Identifier: Apache-2.0
