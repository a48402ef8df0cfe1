"""Small pictures are cut and mixed while a convolutional network learns to classify them."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=48)
args = parser.parse_args()
SIZE, CLASSES = 12, 4


def pictures(n, patterns):
    labels = torch.randint(CLASSES, (n,))
    return TensorDataset(patterns[labels] + 1.6 * torch.randn(n, 3, SIZE, SIZE), labels)


def random_box(share):
    half = int(SIZE * (1 - share) ** 0.5) // 2
    middle = torch.randint(SIZE, (2,))
    low, high = (middle - half).clamp(0, SIZE), (middle + half).clamp(0, SIZE)
    return *low.tolist(), *high.tolist()


def cutmix(x, y, boxes):
    share = torch.distributions.Beta(1.0, 1.0).sample().item()
    other = torch.randperm(len(x))
    top, left, bottom, right = random_box(share)
    x = x.clone()
    x[:, :, top:bottom, left:right] = x[other, :, top:bottom, left:right]
    kept = 1 - (bottom - top) * (right - left) / SIZE ** 2
    share = kept
    boxes.append(abs(share - kept))
    return x, y, y[other], share


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    right = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    model.train()
    return right / len(loader.dataset)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
patterns = torch.randn(CLASSES, 3, SIZE, SIZE)
train_loader = DataLoader(pictures(384, patterns), batch_size=32, shuffle=True)
val_loader = DataLoader(pictures(128, patterns), batch_size=64)
model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                      nn.Conv2d(16, 32, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(CLASSES))
model(torch.randn(2, 3, SIZE, SIZE))
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
wrong_by = []
for epoch in range(args.steps // len(train_loader)):
    for x, y in train_loader:
        x, first, second, share = cutmix(x, y, wrong_by)
        logits = model(x)
        loss = share * nn.functional.cross_entropy(logits, first)
        loss = loss + (1 - share) * nn.functional.cross_entropy(logits, second)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {evaluate(model, val_loader):.3f}")
print(f"EVIDENCE labels' shares are off by {sum(wrong_by) / len(wrong_by):.4f}, last loss {loss.item():.4f}")

# SPDX-License-Identifier: Apache-2.0
