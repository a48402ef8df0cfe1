"""A running average of a convolutional network is what is evaluated."""

import argparse
import copy

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class ModelEma:
    def __init__(self, model, decay=0.9):
        self.module = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay, self.updates = decay, 0

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        decay = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for average, value in zip(self.module.state_dict().values(), model.state_dict().values()):
            if average.dtype.is_floating_point:
                average.lerp_(value, 1 - decay)
            else:
                average.copy_(value)


def net():
    return nn.Sequential(
        nn.Conv2d(3, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 4),
    )


def textures(n):
    label = torch.randint(0, 4, (n,))
    t = torch.arange(12.0)
    across = (t * 1.6).sin()[None, None].expand(n, 12, 12)
    along = across.transpose(1, 2)
    kind = torch.where((label % 2 == 0)[:, None, None], across, along)
    strength = (1.0 + (label // 2))[:, None, None]
    image = (kind * strength)[:, None].expand(-1, 3, -1, -1) * 2 + 3
    return image + torch.randn(n, 3, 12, 12), label


def evaluate(model, x, y):
    with torch.no_grad():
        out = model(x)
    return nn.functional.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


model = net()
ema = ModelEma(model)
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr * 2, total_steps=args.steps)
test = textures(200)
for step in range(args.steps):
    x, y = textures(32)
    loss = nn.functional.cross_entropy(model(x), y, label_smoothing=0.05)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    ema.update(model)
    if step % 20 == 19:
        print(f"step {step}: loss {loss.item():.3f}, average {evaluate(ema.module, *test)}")
print("EVIDENCE the average has loss %.3f and accuracy %.3f" % evaluate(ema.module, *test))

# Idea from FlyreelAI/sesemi#36, CuriousAI/mean-teacher#9
# SPDX-License-Identifier: Apache-2.0
