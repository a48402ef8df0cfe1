# Train a small convolutional network on 8x8 digits with step-wise exponential decay of the learning rate.
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=260)
parser.add_argument("--batch-size", type=int, default=70)
parser.add_argument("--decay", type=float, default=0.85)
args = parser.parse_args()


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc = nn.Linear(24 * 4, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(torch.flatten(x, 1))


def adjust_learning_rate(optimizer, epoch):
    """The initial rate times decay to the power of the epoch."""
    for param_group in optimizer.param_groups:
        param_group["lr"] = param_group["lr"] * args.decay ** epoch


def train(model, loader, optimizer, epoch):
    model.train()
    adjust_learning_rate(optimizer, epoch)
    for data, target in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}, rate {optimizer.param_groups[0]['lr']:.2e}")


def test(model, data, target):
    model.eval()
    with torch.no_grad():
        output = model(data)
        correct = output.argmax(1).eq(target).float().mean().item()
    print(f"test loss {F.cross_entropy(output, target).item():.4f}, accuracy {correct:.3f}")
    return correct


torch.manual_seed(args.seed)
torch.set_num_threads(1)
digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 8 - 1
labels = torch.tensor(digits.target)
order = torch.randperm(len(labels))
train_idx, test_idx = order[:1400], order[1400:]
loader = DataLoader(TensorDataset(images[train_idx], labels[train_idx]), batch_size=args.batch_size, shuffle=True)
model = Net()
optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
epochs = max(1, args.steps // len(loader))
for epoch in range(epochs):
    train(model, loader, optimizer, epoch)
    accuracy = test(model, images[test_idx], labels[test_idx])
print(f"EVIDENCE the rate of the last of {epochs} epochs is {optimizer.param_groups[0]['lr']:.3e}, accuracy {accuracy:.4f}")

# SPDX-License-Identifier: Apache-2.0
