"""A pretrained encoder adapts to shifted features; the classifier on top of it stays as it was."""

import argparse
import copy

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
CLASSES = 5


class Segmenter(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(14, width), nn.ReLU(), nn.Linear(width, 16))
        self.classifier = nn.Linear(16, CLASSES)

    def forward(self, x):
        return self.classifier(self.encoder(x))


def samples(count, shift):
    label = torch.randint(CLASSES, (count,))
    return centres[label] + 0.6 * torch.randn(count, 14) + shift, label


torch.manual_seed(args.seed)
torch.set_num_threads(1)
centres, shift = torch.randn(CLASSES, 14), 0.7 * torch.randn(14)
model = Segmenter()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for _ in range(100):
    x, y = samples(64, 0.0)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

prototypes = copy.deepcopy(model.classifier)
model.classifier.requires_grad = False
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for step in range(args.steps):
    x, _ = samples(64, shift)
    probability = model(x).softmax(-1)
    mean = probability.mean(0)
    certain = -(probability * (probability + 1e-8).log()).sum(-1).mean()
    even = (mean * (mean + 1e-8).log()).sum()
    loss = certain + even
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step}: loss {loss.item():.4f}")
x, y = samples(1000, shift)
right = (model(x).argmax(1) == y).float().mean()
moved = (model.classifier.weight - prototypes.weight).detach().norm()
print(f"EVIDENCE the classifier has moved by {moved:.4f}; accuracy {right:.3f}")

# SPDX-License-Identifier: Apache-2.0
