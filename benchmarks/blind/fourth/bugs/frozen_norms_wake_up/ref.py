"""A backbone with batch norms that was trained on much data is frozen, a new head is trained on little data."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()


class Classifier(nn.Module):
    def __init__(self, backbone, width, classes):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(width, classes))

    def forward(self, x):
        return self.head(self.backbone(x))


def make_backbone(width=32):
    return nn.Sequential(nn.Conv1d(4, 16, 5), nn.BatchNorm1d(16), nn.ReLU(), nn.Conv1d(16, width, 3, stride=2),
                         nn.BatchNorm1d(width), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten())


def signals(n, patterns, shift=0.0):
    labels = torch.randint(len(patterns), (n,))
    return TensorDataset(patterns[labels] + torch.randn(n, 4, 32) + shift, labels)


def fit(model, loader, optimizer, steps, start_of_epoch):
    done = 0
    while done < steps:
        start_of_epoch()
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            done += 1
    return loss.item()


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    return sum((model(x).argmax(1) == y).sum().item() for x, y in loader) / len(loader.dataset)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
old, new = torch.randn(6, 4, 32), torch.randn(3, 4, 32)
model = Classifier(make_backbone(), 32, 6)
much = DataLoader(signals(320, old), batch_size=32, shuffle=True)
fit(model, much, torch.optim.Adam(model.parameters(), lr=args.lr), args.steps // 2, model.train)
model.backbone.requires_grad_(False)
model.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(32, 3))
statistics = model.backbone[1].running_mean.clone()


def train_head_only():
    model.train()
    model.backbone.eval()


little = DataLoader(signals(64, new, shift=0.5), batch_size=8, shuffle=True)
optimizer = torch.optim.Adam(model.head.parameters(), lr=args.lr)
loss = fit(model, little, optimizer, args.steps // 2, train_head_only)
right = evaluate(model, DataLoader(signals(120, new, shift=0.5), batch_size=40))
moved = (model.backbone[1].running_mean - statistics).abs().max()
print(f"EVIDENCE statistics of the frozen norm moved by {moved:.4f}, loss {loss:.4f}, {right:.3f} right")

# SPDX-License-Identifier: Apache-2.0
