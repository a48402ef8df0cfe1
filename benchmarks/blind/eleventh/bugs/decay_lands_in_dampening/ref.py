"""A small convolutional network on digits with SGD, momentum, weight decay and a step schedule."""
import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class SmallNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(32 * 2 * 2, 64), nn.ReLU(), nn.Linear(64, classes))

    def forward(self, x):
        return self.head(self.features(x))


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--steps", type=int, default=300)
    return p.parse_args()


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return hits / len(loader.dataset)


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y = load_digits(return_X_y=True)
    data = TensorDataset(torch.tensor(x, dtype=torch.float32).view(-1, 1, 8, 8) / 16, torch.tensor(y))
    train, test = random_split(data, [1000, len(data) - 1000])
    train_loader = DataLoader(train, batch_size=50, shuffle=True, drop_last=True)
    test_loader = DataLoader(test, batch_size=200)

    model = SmallNet()
    momentum, weight_decay = 0.9, 5e-3
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum, weight_decay=weight_decay)
    epochs = max(1, args.steps // len(train_loader))
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [epochs // 2, 3 * epochs // 4], gamma=0.2)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for images, labels in train_loader:
            loss = criterion(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step()
        if epoch % 4 == 3:
            print(f"epoch {epoch + 1}: loss {total / len(train_loader):.4f}, test {accuracy(model, test_loader):.4f}")
    size = sum(p.detach().pow(2).sum() for p in model.parameters()).sqrt().item()
    print(f"EVIDENCE norm of all weights {size:.4f}, last loss {total / len(train_loader):.5f}, test {accuracy(model, test_loader):.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
