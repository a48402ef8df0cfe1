"""Noisy labels: answers are averaged over the epochs for each sample and take the place of labels bit by bit."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()
CLASSES = 4


class Indexed(Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, index):
        return index, self.x[index], int(self.y[index])


class History:
    """An average of what was answered to each sample."""

    def __init__(self, count, momentum=0.7):
        self.table, self.momentum = torch.zeros(count, CLASSES), momentum

    def update(self, index, probability):
        self.table[index] = self.momentum * self.table[index] + (1 - self.momentum) * probability.detach()
        return self.table[index] / self.table[index].sum(1, keepdim=True)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
centres = 1.5 * torch.randn(CLASSES, 12)
truth = torch.randint(CLASSES, (480,))
x = centres[truth] + torch.randn(480, 12)
wrong = torch.rand(480) < 0.3
y = torch.where(wrong, torch.randint(CLASSES, (480,)), truth)
loader = DataLoader(Indexed(x, y), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, CLASSES))
optimizer = torch.optim.SGD(model.parameters(), lr=5 * args.lr, momentum=0.9, weight_decay=1e-3)
history = History(len(y))
epochs = max(2, args.steps // len(loader))
for epoch in range(epochs):
    share = min(0.8, max(0.0, (epoch - 1) / epochs))
    for index, batch, labels in loader:
        logits = model(batch)
        soft = history.update(index, logits.softmax(1))
        target = (1 - share) * nn.functional.one_hot(labels, CLASSES) + share * soft
        loss = nn.functional.cross_entropy(logits, target)
        if epoch >= 2:
            loss = loss + 0.3 * torch.log1p(-(soft * logits.softmax(1)).sum(1).clamp(max=0.999)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    kept = (history.table.argmax(1) == truth).float().mean().item()
    print(f"epoch {epoch}: share {share:.2f}, loss {loss.item():.4f}, history is right on {kept:.3f}")

# SPDX-License-Identifier: Apache-2.0
