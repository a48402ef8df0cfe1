"""Adversarial training on digits: the attack by a backward in evaluation mode, accuracy on clean and attacked images."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from options import options

EPSILON = 0.1


class ConvNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, 2 * width, 3, padding=1), nn.BatchNorm2d(2 * width)
        self.dropout = nn.Dropout(0.2)
        self.fc = nn.Linear(8 * width, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        return self.fc(self.dropout(x.flatten(1)))


def fgsm(model, images, labels):
    """One step up the gradient of the loss. The model's own gradients are left over: the caller clears them."""
    images = images.clone().requires_grad_(True)
    F.cross_entropy(model(images), labels).backward()
    return (images + EPSILON * images.grad.sign()).clamp(0, 1).detach()


def evaluate(model, loader):
    model.eval()
    clean = attacked = n = 0
    for images, labels in loader:
        clean += (model(images).argmax(1) == labels).sum().item()
        attacked += (model(fgsm(model, images, labels)).argmax(1) == labels).sum().item()
        n += len(labels)
    return clean / n, attacked / n


def main():
    args = options(lr=0.05, width=12, steps=44)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    x, y = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16, torch.tensor(digits.target)
    train_loader = DataLoader(TensorDataset(x[:1408], y[:1408]), batch_size=128, shuffle=True)
    test_loader = DataLoader(TensorDataset(x[1408:], y[1408:]), batch_size=128)
    model = ConvNet(args.width)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
    for epoch in range(max(2, args.steps // len(train_loader))):
        for images, labels in train_loader:
            model.eval()
            attacked = fgsm(model, images, labels)
            model.train()
            optimizer.zero_grad()
            loss = (F.cross_entropy(model(images), labels) + F.cross_entropy(model(attacked), labels)) / 2
            loss.backward()
            optimizer.step()
        clean, robust = evaluate(model, test_loader)
        print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {clean:.3f}, attacked {robust:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
