"""A residual network on digits: SGD with momentum, OneCycleLR by steps, weights initialised by hand."""

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset, random_split

from options import options


def conv3x3(inputs, outputs, stride=1):
    return nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.bn1 = conv3x3(inputs, outputs, stride), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = conv3x3(outputs, outputs), nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(out + identity)


class ResNet(nn.Module):
    def __init__(self, width, classes=10):
        super().__init__()
        self.stem = nn.Sequential(conv3x3(1, width), nn.BatchNorm2d(width), nn.ReLU(inplace=True))
        self.layer1 = BasicBlock(width, width, 1)
        self.layer2 = BasicBlock(width, 2 * width, 2)
        self.layer3 = BasicBlock(2 * width, 4 * width, 2)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(4 * width, classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.ones_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, x):
        x = self.layer3(self.layer2(self.layer1(self.stem(x))))
        return self.fc(self.pool(x).flatten(1))


@torch.no_grad()
def validate(model, loader, criterion):
    model.eval()
    loss = correct = count = 0
    for images, labels in loader:
        output = model(images)
        loss += criterion(output, labels).item() * len(labels)
        correct += (output.argmax(dim=1) == labels).sum().item()
        count += len(labels)
    model.train()
    return loss / count, correct / count


args = options(lr=0.2, width=8, steps=44)
torch.manual_seed(args.seed)
torch.set_num_threads(1)
digits = load_digits()
dataset = TensorDataset(
    torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16, torch.tensor(digits.target)
)
train_set, val_set = random_split(dataset, [1437, 360], generator=torch.Generator().manual_seed(args.seed))
train_loader = DataLoader(train_set, batch_size=128, shuffle=True, drop_last=True)
val_loader = DataLoader(val_set, batch_size=180)

model = ResNet(args.width)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4, nesterov=True)
epochs = max(2, args.steps // len(train_loader))
scheduler = torch.optim.lr_scheduler.OneCycleLR(
    optimizer, max_lr=args.lr, epochs=epochs, steps_per_epoch=len(train_loader)
)
for epoch in range(epochs):
    for images, labels in train_loader:
        output = model(images)
        loss = criterion(output, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    val_loss, accuracy = validate(model, val_loader, criterion)
    print(f"epoch {epoch}: lr {scheduler.get_last_lr()[0]:.4f} val loss {val_loss:.3f} accuracy {accuracy:.3f}")

# SPDX-License-Identifier: Apache-2.0
