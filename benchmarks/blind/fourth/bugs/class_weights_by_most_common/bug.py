"""A classifier for rare faults: classes are weighted by how rare they are."""

import argparse
from collections import Counter

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
SHARES = torch.tensor([0.06, 0.62, 0.10, 0.22])


def faults(n, centres):
    labels = torch.multinomial(SHARES, n, replacement=True)
    return centres[labels] + 1.3 * torch.randn(n, centres.size(1)), labels


def class_weights(labels):
    counts = Counter(labels.tolist())
    counts = [n for _, n in counts.most_common()]
    weights = 1 / torch.tensor(counts, dtype=torch.float)
    return weights / weights.sum() * len(counts)


@torch.no_grad()
def recalls(model, loader):
    model.eval()
    right, total = torch.zeros(len(SHARES)), torch.zeros(len(SHARES))
    for x, y in loader:
        right += torch.bincount(y[model(x).argmax(1) == y], minlength=len(SHARES))
        total += torch.bincount(y, minlength=len(SHARES))
    model.train()
    return right / total


torch.manual_seed(args.seed)
torch.set_num_threads(1)
centres = torch.randn(len(SHARES), 10)
x, y = faults(640, centres)
train_loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(*faults(400, centres)), batch_size=100)
weights = class_weights(y)
model = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, len(SHARES)))
criterion = nn.CrossEntropyLoss(weight=weights)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
for epoch in range(args.steps // len(train_loader)):
    total = 0.0
    for a, b in train_loader:
        loss = criterion(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / len(train_loader):.3f}, mean recall {recalls(model, val_loader).mean():.3f}")
recall = [round(r, 3) for r in recalls(model, val_loader).tolist()]
print(f"EVIDENCE weights {[round(w, 3) for w in weights.tolist()]}, recalls {recall}")

# SPDX-License-Identifier: Apache-2.0
