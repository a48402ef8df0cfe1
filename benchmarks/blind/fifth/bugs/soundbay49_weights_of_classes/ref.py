"""Rare calls in recordings: a weighted sampler draws both classes equally often."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()
CLASSES, FRAMES = 3, 32


class Calls(Dataset):
    def __init__(self, count, rare):
        self.labels = torch.multinomial(torch.tensor(rare), count, replacement=True)
        time = torch.linspace(0, 1, FRAMES)
        pitch = 3.0 + 4.0 * self.labels[:, None]
        self.sounds = torch.sin(2 * torch.pi * (pitch * time + torch.rand(count, 1))) + 0.6 * torch.randn(count, FRAMES)
        self.met = torch.zeros(count)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        self.met[index] += 1
        return self.sounds[index], self.labels[index]


torch.manual_seed(args.seed)
torch.set_num_threads(1)
train, valid = Calls(600, [0.85, 0.1, 0.05]), Calls(300, [1.0, 1.0, 1.0])
per_class = 1.0 / torch.bincount(train.labels, minlength=CLASSES).float()
sampler = WeightedRandomSampler(per_class[train.labels], num_samples=len(train), replacement=True)
loader = DataLoader(train, batch_size=32, sampler=sampler)
model = nn.Sequential(nn.Unflatten(1, (1, FRAMES)), nn.Conv1d(1, 16, 7, padding=3), nn.ReLU(), nn.MaxPool1d(4),
                      nn.Conv1d(16, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(16 * FRAMES // 4, CLASSES))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
step = 0
while step < args.steps:
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 20 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
        if step == args.steps:
            break
model.eval()
with torch.no_grad():
    right = (model(valid.sounds).argmax(1) == valid.labels).float().mean()
print(f"EVIDENCE {int((train.met > 0).sum())} of {len(train)} samples were met; accuracy {right:.3f}")

# SPDX-License-Identifier: Apache-2.0
