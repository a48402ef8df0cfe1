"""Pairs of a picture's and a caption's features are brought together by a symmetric loss with a learned temperature."""

import argparse
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()


class Tower(nn.Module):
    def __init__(self, features, width=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, 64), nn.GELU(), nn.Linear(64, width))

    def forward(self, x):
        return nn.functional.normalize(self.net(x), dim=-1)


class Pairs(nn.Module):
    def __init__(self):
        super().__init__()
        self.picture, self.caption = Tower(30), Tower(20)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, picture, caption):
        a, b = self.picture(picture), self.caption(caption)
        logits = self.logit_scale * a @ b.t()
        labels = torch.arange(len(a))
        return (nn.functional.cross_entropy(logits, labels) + nn.functional.cross_entropy(logits.t(), labels)) / 2


def pairs(count, maps):
    topic = torch.randn(count, 8)
    return [topic @ m + 0.3 * torch.randn(count, m.shape[1]) for m in maps]


@torch.no_grad()
def recall(model, picture, caption):
    model.eval()
    found = (model.picture(picture) @ model.caption(caption).t()).argmax(1)
    model.train()
    return (found == torch.arange(len(picture))).float().mean().item()


def decayed(model):
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    others = [p for p in model.parameters() if p.ndim < 2]
    return [{"params": matrices, "weight_decay": 0.05}, {"params": others, "weight_decay": 0.0}]


torch.manual_seed(args.seed)
torch.set_num_threads(1)
maps = torch.randn(8, 30), torch.randn(8, 20)
loader = DataLoader(TensorDataset(*pairs(640, maps)), batch_size=64, shuffle=True, drop_last=True)
valid = pairs(200, maps)
model = Pairs()
optimizer = torch.optim.AdamW(decayed(model), lr=args.lr)
step = 0
while step < args.steps:
    for picture, caption in loader:
        loss = model(picture, caption)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    print(f"step {step}: loss {loss.item():.4f}, recall {recall(model, *valid):.3f}")
print(f"EVIDENCE loss {loss.item():.4f}, recall {recall(model, *valid):.4f}")

# SPDX-License-Identifier: Apache-2.0
