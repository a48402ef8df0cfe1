"""Embeddings with an angular margin; how far classes lie apart is measured."""

import argparse

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.005), ("--steps", int, 160)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()
CLASSES, MARGIN, SCALE = 8, 0.4, 12.0


class MarginHead(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.centres = nn.Parameter(torch.randn(CLASSES, width) * 0.1)

    def forward(self, embedding, labels=None):
        cosine = F.normalize(embedding, dim=1) @ F.normalize(self.centres, dim=1).t()
        if labels is None:
            return cosine
        angles = torch.acos(cosine.clamp(-1 + 1e-6, 1 - 1e-6))
        angles = angles + MARGIN
        return SCALE * torch.cos(angles)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
mixing = torch.randn(6, 20)
labels = torch.randint(CLASSES, (1000,))
x = (torch.randn(CLASSES, 6)[labels] + 0.5 * torch.randn(1000, 6)) @ mixing
loader = DataLoader(TensorDataset(x[:800], labels[:800]), batch_size=40, shuffle=True)
trunk, head = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 8)), MarginHead(8)
optimizer = torch.optim.AdamW([*trunk.parameters(), *head.parameters()], lr=args.lr)
step = 0
while step < args.steps:
    for inputs, target in loader:
        loss = F.cross_entropy(head(trunk(inputs), target), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    with torch.no_grad():
        cosine = head(trunk(x[800:]))
        own = cosine.gather(1, labels[800:, None]).mean().item()
        right = (cosine.argmax(1) == labels[800:]).float().mean().item()
    print(f"step {step}: loss {loss.item():.4f}, right {right:.3f}, cosine of the own class {own:.3f}")
print(f"EVIDENCE the last loss is {loss.item():.4f}, the cosine with the own class {own:.4f}, {right:.4f} right")

# SPDX-License-Identifier: Apache-2.0
