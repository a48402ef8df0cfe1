"""The rate is halved when validation accuracy stops to rise."""

import argparse

import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class Clip(nn.Module):
    """Frames of a clip are embedded, mixed over time and pooled."""

    def __init__(self, width=32, classes=6):
        super().__init__()
        self.embed = nn.Linear(10, width)
        self.mix = nn.Conv1d(width, width, 5, padding=2, groups=width)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, frames):
        x = self.embed(frames).relu()
        x = x + self.mix(x.transpose(1, 2)).transpose(1, 2)
        return self.head(self.norm(x).mean(1))


def clips(n, centres):
    label = torch.randint(0, len(centres), (n,))
    return 0.4 * centres[label][:, None] + torch.randn(n, 12, 10), label


def train_epoch(model, optimizer, x, y, batches):
    model.train()
    for index in torch.randperm(len(x)).split(32)[:batches]:
        loss = nn.functional.cross_entropy(model(x[index]), y[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


@torch.no_grad()
def validate(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


def main():
    centres = torch.randn(6, 10)
    x, y = clips(640, centres)
    val = clips(300, centres)
    model = Clip()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.5)
    scheduler = ReduceLROnPlateau(optimizer, mode="max", factor=0.5, patience=1)
    for epoch in range(args.steps // 5):
        loss = train_epoch(model, optimizer, x, y, 5)
        accuracy = validate(model, *val)
        scheduler.step(accuracy)
        print(f"epoch {epoch}: loss {loss:.3f} accuracy {accuracy:.3f} rate {optimizer.param_groups[0]['lr']:.5f}")
    print(f"EVIDENCE the rate ends at {optimizer.param_groups[0]['lr']:.5f}, accuracy {accuracy:.3f}, loss {loss:.3f}")


main()

# Idea from md-mohaiminul/ViS4mer#4
# SPDX-License-Identifier: Apache-2.0
