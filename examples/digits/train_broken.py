"""Classify scikit-learn's 1,797 images of digits with a small CNN, fine-tuning style.

The convolutions keep the features they start with; only the head is trained, with
a learning rate that falls from epoch to epoch.
"""

import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


class Digits(Dataset):
    """8x8 grey images with values in [0, 1] and their labels."""

    def __init__(self):
        images, labels = load_digits(return_X_y=True)
        self.images = torch.tensor(images, dtype=torch.float32).view(-1, 1, 8, 8) / 16
        self.labels = torch.tensor(labels)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(32)
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Sequential(
            nn.Dropout(0.25), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10),
        )

    def forward(self, x):
        x = self.pool(torch.relu(self.bn1(self.conv1(x))))
        x = self.pool(torch.relu(self.bn2(self.conv2(x))))
        return self.head(x.flatten(1))


def train_epoch(model, loader, optimizer, loss_fn):
    """One pass over the training set; returns the mean loss."""
    model.train()
    total = 0.0
    for images, labels in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def evaluate(model, loader):
    """The share of images that are classified correctly."""
    model.eval()
    correct = sum((model(images).argmax(1) == labels).sum().item() for images, labels in loader)
    return correct / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    train_set, test_set = random_split(Digits(), [1437, 360])
    train_loader = DataLoader(train_set, batch_size=72, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=120)

    model = Net()
    optimizer = torch.optim.Adam(model.head.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    for name, parameter in model.named_parameters():
        if "bn" not in name:  # keep the features
            parameter.requires_grad_(False)

    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(1, args.epochs + 1):
        loss = train_epoch(model, train_loader, optimizer, loss_fn)
        scheduler.step()
        accuracy = evaluate(model, test_loader)
        print(f"epoch {epoch}: loss {loss:.3f}, accuracy {accuracy:.3f}", flush=True)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
