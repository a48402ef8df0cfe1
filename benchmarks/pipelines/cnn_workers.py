"""A CNN on digits: augmentation in DataLoader workers with seeds of their own, a schedule by epochs."""

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, Dataset

from options import options


class Digits(Dataset):
    def __init__(self, images, labels, augment):
        self.images, self.labels, self.augment = images, labels, augment

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        image = self.images[index] / 16.0
        if self.augment:
            image = np.roll(image, np.random.randint(-1, 2), axis=1) + np.random.normal(0, 0.05, image.shape)
        return torch.from_numpy(image.astype(np.float32))[None], int(self.labels[index])


def seed_worker(worker_id):
    np.random.seed(torch.initial_seed() % 2**32)


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(2 * width)
        self.dropout = nn.Dropout(0.3)
        self.fc = nn.Linear(8 * width, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        return self.fc(self.dropout(x.flatten(1)))


def train(model, loader, optimizer):
    model.train()
    total = 0.0
    for data, target in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def test(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for data, target in loader:
            correct += (model(data).argmax(1) == target).sum().item()
    return correct / len(loader.dataset)


def main():
    args = options(lr=3e-3, width=16, steps=45)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    digits = load_digits()
    x_train, x_test, y_train, y_test = train_test_split(
        digits.images, digits.target, test_size=0.2, random_state=args.seed
    )
    train_loader = DataLoader(
        Digits(x_train, y_train, augment=True), batch_size=96, shuffle=True, num_workers=2, worker_init_fn=seed_worker
    )
    test_loader = DataLoader(Digits(x_test, y_test, augment=False), batch_size=180)
    model = Net(args.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    for epoch in range(max(2, round(args.steps / len(train_loader)))):
        loss = train(model, train_loader, optimizer)
        accuracy = test(model, test_loader)
        scheduler.step()
        print(f"epoch {epoch}: loss {loss:.3f}, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
