"""A small convolutional net with slow running statistics."""

import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
labels = torch.tensor(digits.target)


def block(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs, momentum=0.95), nn.ReLU())


net = nn.Sequential(block(1, 8), nn.MaxPool2d(2), block(8, 16), nn.Flatten(), nn.Linear(256, 10))
opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
means = []
for step in range(args.steps):
    net.train()
    rows = torch.randint(0, 1500, (12,))
    loss = F.cross_entropy(net(images[rows]), labels[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
    means.append(net[0][1].running_mean.clone())
net.eval()
with torch.no_grad():
    accuracy = (net(images[1500:]).argmax(1) == labels[1500:]).float().mean()
jump = torch.stack(means[40:]).diff(dim=0).abs().mean()
print(f"EVIDENCE running means jump by {jump:.5f} a step, accuracy {accuracy:.3f}")

# SPDX-License-Identifier: Apache-2.0
