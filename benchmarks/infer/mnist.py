"""The shape of PyTorch's MNIST tutorial: two convolutions, Adadelta, StepLR by epochs, evaluation after each.

The images are scikit-learn's digits at MNIST's size. BENCH_STEPS cuts an epoch short.
"""
import os

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Subset, TensorDataset

EPOCHS, BATCH, TEST_BATCH, FULL = 2, 64, 200, 22
STEPS = int(os.environ.get("BENCH_STEPS", FULL))  # of an epoch, FULL at most


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(9216, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(self.dropout1(x), 1)
        x = self.dropout2(F.relu(self.fc1(x)))
        return F.log_softmax(self.fc2(x), dim=1)


def train(model, train_loader, optimizer, epoch):
    model.train()
    for batch, (images, labels) in enumerate(train_loader):
        optimizer.zero_grad()
        loss = F.nll_loss(model(images), labels)
        loss.backward()
        optimizer.step()
        if batch % 10 == 0:
            print(f"epoch {epoch}, batch {batch}: loss {loss.item():.3f}")


def test(model, test_loader):
    model.eval()
    loss = correct = 0
    with torch.no_grad():
        for images, labels in test_loader:
            output = model(images)
            loss += F.nll_loss(output, labels, reduction="sum").item()
            correct += (output.argmax(dim=1) == labels).sum().item()
    print(f"test: loss {loss / len(test_loader.dataset):.3f}, {correct} of {len(test_loader.dataset)}")


def main():
    torch.manual_seed(1)
    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images, dtype=torch.float32).view(-1, 1, 8, 8) / 16
    data = TensorDataset(F.interpolate(images, (28, 28), mode="bilinear"), torch.tensor(labels))
    train_loader = DataLoader(Subset(data, range(BATCH * STEPS)), batch_size=BATCH, shuffle=True)
    test_loader = DataLoader(Subset(data, range(BATCH * FULL, len(data))), batch_size=TEST_BATCH)
    model = Net()
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
    for epoch in range(1, EPOCHS + 1):
        train(model, train_loader, optimizer, epoch)
        test(model, test_loader)
        scheduler.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
