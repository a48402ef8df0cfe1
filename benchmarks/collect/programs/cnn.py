"""A small CNN on images of MNIST's shape, batches of 64."""
import torch
import torch.nn.functional as F
from meter import STEPS, Meter
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


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
        x = self.dropout1(x).flatten(1)
        return F.log_softmax(self.fc2(self.dropout2(F.relu(self.fc1(x)))), dim=1)


def main():
    torch.manual_seed(0)
    meter = Meter()
    data = TensorDataset(torch.randn(64 * STEPS, 1, 28, 28), torch.randint(10, (64 * STEPS,)))
    model = Net()
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    model.train()
    for images, labels in DataLoader(data, batch_size=64, shuffle=True):
        optimizer.zero_grad()
        loss = F.nll_loss(model(images), labels)
        loss.backward()
        optimizer.step()
        meter.tick()
    meter.write()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
