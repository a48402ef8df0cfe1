"""A residual net of CIFAR's shape (six blocks, 0.7 M parameters), batches of 16."""
import torch
import torch.nn.functional as F
from meter import STEPS, Meter
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Block(nn.Module):
    def __init__(self, inner, outer, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outer)
        self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outer)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Sequential() if stride == 1 and inner == outer else nn.Sequential(
            nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 3, 1, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU())
        self.layers = nn.Sequential(Block(32, 32, 1), Block(32, 32, 1), Block(32, 64, 2),
                                    Block(64, 64, 1), Block(64, 128, 2), Block(128, 128, 1))
        self.head = nn.Linear(128, 10)

    def forward(self, x):
        return self.head(self.layers(self.stem(x)).mean((2, 3)))


def main():
    torch.manual_seed(0)
    meter = Meter()
    data = TensorDataset(torch.randn(16 * STEPS, 3, 32, 32), torch.randint(10, (16 * STEPS,)))
    model = ResNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    model.train()
    for images, labels in DataLoader(data, batch_size=16, shuffle=True):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        meter.tick()
    meter.write()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
